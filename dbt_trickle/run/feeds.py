"""Before a load: whether each source can be captured as it was asked for, and feeds that the user allowed to switch on.

Only `cdc_mode: auto` falls back. What is asked for by name and cannot work is an error when the stream table is
created. Where it stops working later, it is recomputed if that is allowed, else it is the same error. A source is
somebody else's table: nothing of it is changed unless `meta.trickle.enable_change_feed: true` says so of that source.
"""

from __future__ import annotations

from dataclasses import replace

from dbt_trickle.capture.table import FEED_PROPERTY, TableFacts, table_facts
from dbt_trickle.errors import ModelError
from dbt_trickle.formats import delta
from dbt_trickle.formats.base import SourceVersion
from dbt_trickle.names import Relation, literal
from dbt_trickle.plan.decide import Decision, Work
from dbt_trickle.run import captures
from dbt_trickle.run.situation import Situation, pinned_query


def ready(here: Situation, decision: Decision) -> Situation:
    """The situation with the allowed feeds switched on; an error where a capture cannot be what it is to be."""
    if decision.work in (Work.DELTA, Work.OVERWRITE) and here.before is not None:
        # Before the commit that its readers are to read.
        consumers = here.run.consumers(here.before)
        asked = replace(here.before, change_buffer=here.request.config.change_buffer)
        before = here.buffers.emptied(here.buffers.kept(asked, bool(consumers), before_commit=True), consumers)
        here = replace(here, before=before)
    if not here.request.config.differential or decision.work in (Work.NOTHING, Work.PLACEHOLDER):
        return here
    here = _switched_on(here)
    if decision.work is Work.LOAD and decision.action in ("FULL", "ALTER"):
        _require_possible(here)
    return here


def _switched_on(here: Situation) -> Situation:
    request, run = here.request, here.run
    wanted = [
        version
        for key, version in delta.tables(here.pinned.frontier).items()
        if version.kind == "TABLE"
        and request.source(version.relation).enable_change_feed
        and request.capture_of(version.relation) != "log"
        and _is_off(here, key, version)
    ]
    if not wanted:
        return here
    for version in wanted:
        here.session.execute(
            f"ALTER TABLE {version.table.sql} SET TBLPROPERTIES ({literal(FEED_PROPERTY)} = {literal('true')})"
        )
        run.sources.forget(version.table)
    before = dict(here.before.frontier) if here.before is not None else {}
    pinned = pinned_query(request, here.session, run, here.before)
    facts = replace(here.facts, frontier=pinned.frontier, held=pinned.held, apart=pinned.apart)
    return replace(here, pinned=pinned, facts=facts, captures=captures.of(request, run, before, pinned, here.now))


def _is_off(here: Situation, key: str, version: SourceVersion) -> bool:
    """Of a source that stands where it stood nobody has asked: it was looked at when it moved there. But whom it stands
    still for may be another stream table of this run."""
    is_new = here.before is None or key not in here.before.frontier
    return (key in here.pinned.tables or is_new) and not _facts(here, version).feed


def _require_possible(here: Situation) -> None:
    request = here.request
    for why in here.pinned.unversioned:
        mode = request.capture_of(why.relation)
        # A stream table upstream that was not loaded yet is going to be a Delta table.
        if why.relation and mode != "auto" and here.run.stream_table_at(Relation.parse(why.relation)) is None:
            raise ModelError(
                "TRK-214",
                f"`cdc_mode: {mode}` cannot capture a source ({why.reason})",
                remedy="Make it a Delta table, or use `cdc_mode: auto`, which recomputes where it must.",
            )
    for version in delta.tables(here.pinned.frontier).values():
        # A stream table's own feed is switched on for the first one that reads it.
        own = version.kind == "STREAM_TABLE"
        if request.capture_of(version.relation) == "feed" and not own and not _facts(here, version).feed:
            raise ModelError(
                "TRK-214",
                f"`cdc_mode: feed`, and the change feed of {version.relation} is off",
                remedy=f"Use `cdc_mode: auto`, or {_switch(version)}.",
            )


def stopped(here: Situation, version: SourceVersion, reason: str) -> Decision:
    """A window that the feed does not hold, although it was to be read by that."""
    if here.request.config.refresh_mode == "differential":
        remedy = (
            "With `cdc_mode: auto` the two versions are compared instead. To stay with `feed`, where it is off "
            f"{_switch(version)}; then run once with --full-refresh."
        )
        raise ModelError("TRK-214", f"{version.relation}: {reason}", remedy=remedy)
    return Decision("FULL", f"{version.relation}: {reason}", Work.OVERWRITE)


def _facts(here: Situation, version: SourceVersion) -> TableFacts:
    known = here.pinned.tables.get(version.key)
    return known or table_facts(here.session.query(delta.detail(version.table))[0])


def _switch(version: SourceVersion) -> str:
    if version.kind == "STREAM_TABLE":
        return f"give that stream table `tblproperties: {{{FEED_PROPERTY}: true}}`"
    return (
        f"switch it on (ALTER TABLE {version.relation} SET TBLPROPERTIES ({FEED_PROPERTY} = true)), or allow that "
        "by `meta.trickle.enable_change_feed: true` of the source"
    )
