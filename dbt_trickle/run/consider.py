"""What a refresh would do now: facts gathered, and decided upon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dbt_trickle import sql
from dbt_trickle.apply.shape import same_query
from dbt_trickle.catalog import events
from dbt_trickle.catalog.state import Column, Refresh, StreamTable, Unversioned
from dbt_trickle.errors import ModelError, WarehouseError
from dbt_trickle.formats.base import FUNCTION, Frontier
from dbt_trickle.plan.decide import Decision, Facts, Work, decide, instead, suspended_by_user
from dbt_trickle.plan.public_view import showing
from dbt_trickle.run import captures, feeds, guard, held_back, recover
from dbt_trickle.run.columns import describe_query, described
from dbt_trickle.run.differential import Differential, differential
from dbt_trickle.run.guard import Storage
from dbt_trickle.run.invocation import Invocation
from dbt_trickle.run.pins import PinnedQuery
from dbt_trickle.run.request import Request
from dbt_trickle.run.session import Session, passes
from dbt_trickle.run.situation import Phases, Situation, meaning_of, pinned_query, with_meaning
from dbt_trickle.run.still import stands_still
from dbt_trickle.run.understand import Understood, understand
from dbt_trickle.tree import advice, days, fingerprint


@dataclass(frozen=True)
class Considered:
    """`understood`: none where so much need not be known; `statement`: of a differential refresh."""

    here: Situation
    decision: Decision
    columns: tuple[Column, ...] = ()
    understood: Understood | None = None
    statement: Differential | None = None


def consider(request: Request, session: Session, run: Invocation, row: Refresh, *, prepare: bool) -> Considered:
    """`row`: the row of the history that an outcome would complete; `prepare`: sources whose change feeds the user
    allowed to switch on get them.
    """
    here = _look(with_meaning(request, session), session, run, row)
    decision = decide(here.facts)
    run.decided(request.pgt_id, decision.action)
    if decision.work is Work.NOTHING:
        return Considered(here, decision)
    here, columns = with_columns(feeds.ready(here, decision) if prepare else here)
    if decision.work is Work.PLACEHOLDER:
        return Considered(here, decision, columns)
    decision = _reload_on_other_columns(decision, here, columns)
    understood = understand(here, columns, anew=decision.work is Work.LOAD)
    here.phases.lap("understand")
    statement = None
    if decision.work in (Work.DELTA, Work.OVERWRITE):
        decision, statement = _by_what_changed(here, decision, understood)
        here.phases.lap("decide")
        if decision.work is Work.LOAD:
            understood = understand(here, columns, anew=True)
    if decision.work is not Work.NOTHING and statement is None:
        _require_maintainable(here, understood)
    return Considered(_held(here, decision), decision, columns, understood, statement)


def _held(here: Situation, decision: Decision) -> Situation:
    """With what its readers stay with until the others of its diamond have come."""
    members = here.run.diamond_of(here.before, here.request.config.diamond_consistency)
    before = held_back.held(here.before, here.request.config, here.facts, decision, members, here.now)
    return here if before is here.before else replace(here, before=before)


def _by_what_changed(
    here: Situation, decision: Decision, understood: Understood
) -> tuple[Decision, Differential | None]:
    """What is done, and the statement where it is a differential refresh."""
    config, before = here.request.config, here.before
    if before is not None and not here.request.full_refresh and _calls_others(before.frontier, here.pinned.frontier):
        return _redefined(here, replace(decision, action="REINITIALIZE", work=Work.LOAD)), None
    if understood.shape is None and decision.work is Work.DELTA:
        decision = instead(config, Decision("FULL", f"{decision.reason}; {understood.reason}", Work.OVERWRITE))
    if before is not None and understood.mark != before.engine.get("mark", ""):
        anew = Decision("REINITIALIZE", f"{decision.reason}; {_why_anew(before, understood)}", Work.LOAD)
        was = before.engine.get("mark", "")
        by_mode = understood.shape is None or not was or same_query(was, understood.mark)
        return (anew if by_mode else _redefined(here, anew)), None
    if decision.work is not Work.DELTA or understood.shape is None:
        return _unless_still(here, decision), None
    found = differential(here, understood.shape, decision.reason)
    if isinstance(found, Decision):
        return (_redefined(here, found) if found.work is Work.LOAD else instead(config, found)), None
    return replace(decision, reason=found.reason, choice=found.choice, changed=found.changed), found


def _unless_still(here: Situation, decision: Decision) -> Decision:
    """All rows are computed when a source moved on, and not when none of its rows did."""
    before, pinned = here.before, here.pinned
    if before is None or here.request.full_refresh or here.facts.unversioned or pinned.unversioned:
        return decision
    if not stands_still(here.session, pinned.text, before.frontier, pinned.frontier):
        return decision
    return Decision("NO_DATA", f"{decision.reason}, but no row of it changed", Work.NOTHING)


def _calls_others(before: Frontier, now: Frontier) -> bool:
    """A function has another text, which the tree does not show: what is stored was computed by the old one."""
    found = (before.get(key) for key, version in now.items() if version.kind == FUNCTION)
    return any(was is not None and not was.same_state(now[was.key]) for was in found)


def _why_anew(before: StreamTable, understood: Understood) -> str:
    """What is stored cannot be gone on from: the mode was changed, or what the query reads is something else."""
    if understood.shape is None:
        return "its storage holds what only differential refreshes need"
    if not before.engine.get("mark"):
        return "its storage lacks what differential refreshes go on from"
    return understood.other_than(before.engine) or "it is understood otherwise than when it was loaded"


def _require_maintainable(here: Situation, understood: Understood) -> None:
    """At the first load already: later it would be an error in the middle of the night."""
    if here.request.config.refresh_mode == "differential" and understood.shape is None:
        raise ModelError(
            "TRK-203",
            f"`refresh_mode: differential`, but it can only be recomputed: {understood.reason}",
            remedy=" ".join(
                filter(
                    None,
                    (
                        advice.instead(understood.reason),
                        "`refresh_mode: auto` recomputes where it must, and says why.",
                    ),
                )
            ),
        )


def passed_over(request: Request, session: Session, run: Invocation, row: Refresh) -> Considered | None:
    """What is skipped whatever its sources do. They are not asked: one may be gone, and that be why it is suspended."""
    before = run.state(request.pgt_id)
    query = sql.without_terminator(request.query)
    pinned = PinnedQuery(query, dict(before.frontier) if before is not None else {})
    here = _situation(request, session, run, row, before, pinned, Phases())
    decision = decide(here.facts)
    return Considered(here, decision) if (decision.action, decision.work) == ("SKIP", Work.NOTHING) else None


def _look(request: Request, session: Session, run: Invocation, row: Refresh) -> Situation:
    """What the first decision rests on. Where no source moved, no more is asked than this; a refresh asks on."""
    phases = Phases()
    before = _as_shown(request, session, run)
    query = sql.without_terminator(request.query)
    _require_other_sources(request, query)
    pinned = pinned_query(request, session, run, before)
    _require_deterministic(request, pinned)
    _require_no_circle(request, run, pinned)
    phases.lap("sources")
    stored = _stored(request, session, run, before)
    if stored is not None and stored.behind and run.look_again(session, request.pgt_id, request.public) != before:
        # A run that began before the other one, and closed after it, has the catalog say what was true before.
        return _look(request, session, run, row)
    before = stored.state if stored is not None else before
    phases.lap("storage")
    here = _situation(request, session, run, row, before, pinned, phases)
    facts = replace(
        here.facts,
        suspended=run.suspended_among(pinned.frontier),
        unversioned=(*map(str, pinned.unversioned), *_of_the_day(before)),
        previous_storage_missing=stored is not None and stored.missing,
        storage_touched=stored.touched if stored is not None else "",
        shows_another=stored is not None and _is_another(request, stored.state),
    )
    return replace(here, facts=facts)


def _of_the_day(before: StreamTable | None) -> tuple[str, ...]:
    """Found out when it was loaded: what reads texts as moments may give another result of the same rows tomorrow."""
    reason = str(before.engine.get("reason", "")) if before is not None else ""
    return (reason,) if days.hangs_on_the_day(reason) else ()


def _as_shown(request: Request, session: Session, run: Invocation) -> StreamTable | None:
    """What readers see decides. The catalog may name another generation: of two runs the one that closed last may
    have begun before the other one led readers on.
    """
    state = run.state(request.pgt_id)
    if state is None or not state.is_populated or request.shown is None or request.sampled:
        return state
    seen = showing(request.shown, state.pgt_id)
    if seen is None or (seen.current == state.storage and seen.is_of(state.held_back)):
        return state
    return run.look_again(session, state.pgt_id, request.public) or state


def _is_another(request: Request, state: StreamTable) -> bool:
    """Somebody has put a table, or a view of something else, under the name: `dbt clone`, or a hand-made one.

    Or of the same storage, computed from. Of a view of another generation of it, `_as_shown` has asked.
    """
    if state.expose != "view":
        return False
    if request.existing == "table":
        return True
    if request.shown is None:
        return False
    seen = showing(request.shown, state.pgt_id)
    if seen is None:
        return True
    if seen.current != state.storage or not seen.is_of(state.held_back):
        return False
    return not recover.shows(request.shown, state.columns, seen.current, state.held_back)


def _situation(
    request: Request,
    session: Session,
    run: Invocation,
    row: Refresh,
    before: StreamTable | None,
    pinned: PinnedQuery,
    phases: Phases,
) -> Situation:
    # Of what the user has suspended nobody asks whether it was changed: its settings need not be asked for, either.
    meaning = {} if suspended_by_user(before, request.config) else meaning_of(request, session, run)
    meant = fingerprint.of(sql.without_terminator(request.query), request.relations, meaning)
    began = request.began
    facts = Facts(
        config=request.config,
        state=before,
        fingerprint=meant,
        layout=request.layout,
        frontier=pinned.frontier,
        held=pinned.held,
        apart=pinned.apart,
        deploys=began is None or (began.fingerprint, began.layout) != (meant, request.layout),
        public_is_ours=request.existing is not None,
        sampled=request.sampled,
        full_refresh=request.full_refresh,
        not_due=run.not_due(request.pgt_id),
    )
    row = replace(row, start_time=phases.started)
    known: Frontier = dict(before.frontier) if before is not None else {}
    now = run.clock()
    found = captures.of(request, run, known, pinned, now)
    return Situation(request, session, run, row, before, pinned, facts, now, phases, found)


def with_columns(here: Situation) -> tuple[Situation, tuple[Column, ...]]:
    """The output's columns. Where only the pinned text does not compile, the user's own runs, and says so."""
    request, session, pinned = here.request, here.session, here.pinned
    query = sql.without_terminator(request.query)
    try:
        columns = describe_query(session, pinned.text, request)
        if not (reason := _shown_otherwise(session, pinned)):
            return here, columns
    except WarehouseError as problem:
        if query == pinned.text or passes(problem):
            raise
        reason = f"with pinned sources it does not compile: {problem.what}"
    if pinned.held:
        raise ModelError(
            "TRK-216",
            f"its branches agree on an older state only ({pinned.held}), and that cannot be read: {reason}",
            remedy="Refresh them in one run (`dbt run --select +model`).",
        )
    columns = describe_query(session, query, request)
    own = replace(pinned, text=query, unversioned=(*pinned.unversioned, Unversioned(reason)))
    return replace(here, pinned=own), columns


def _shown_otherwise(session: Session, pinned: PinnedQuery) -> str:
    """A view casts what has another type than when it was made, or shows columns that came since: its text does not."""
    for view, text in pinned.inlined.items():
        if described(session, f"SELECT * FROM {view.sql}") != described(session, f"SELECT * FROM {text}"):
            return (
                f"{view} shows other columns than its text gives, since what it reads has others than it was made for"
            )
    return ""


def _stored(request: Request, session: Session, run: Invocation, before: StreamTable | None) -> Storage | None:
    """What became of its storage since the last run; nothing is asked where it does not matter."""
    if before is None or not before.is_populated or request.sampled or suspended_by_user(before, request.config):
        return None
    if request.existing != before.expose:
        # dbt's cache shows something else under the public name than we left there.
        return Storage(before, missing=recover.last_marked(session, before.storage, before.pgt_id) is None)
    stored = guard.look(session, before, run.listed(before.pgt_id))
    if stored.foreign is None or stored.foreign.version == before.foreign_version:
        return stored
    told = replace(before, foreign_version=stored.foreign.version)
    run.note(told, events.of_write(told, stored.foreign, run.clock()))
    return replace(stored, state=told)


def _require_other_sources(request: Request, query: str) -> None:
    found = sql.analyse(query)
    own = {request.public.key, f"spark_catalog.{request.public.key}"}
    if isinstance(found, sql.Analysis) and any(".".join(ref.parts).lower() in own for ref in found.tables):
        raise ModelError(
            "TRK-210",
            "its query reads the stream table itself",
            remedy="A stream table is a function of its sources: leave `{{ this }}` out; there is no "
            "is_incremental() to write.",
        )


def _require_no_circle(request: Request, run: Invocation, pinned: PinnedQuery) -> None:
    """dbt knows of ref() alone; a name in the text, or in a view, leads there as well."""
    way = run.way_back(request.pgt_id, pinned.frontier)
    if not way:
        return
    *over, _ = way
    remedy = f"Let one of them read something else. If {way[0]} reads it no more by its new text, run that first."
    raise ModelError(
        "TRK-210",
        f"its query would read the stream table itself, over {', '.join(over) or 'a view'}",
        remedy=remedy if over else "Let the query, or the view, read something else.",
    )


def _require_deterministic(request: Request, pinned: PinnedQuery) -> None:
    if pinned.volatile and request.config.volatile_functions == "reject":
        raise ModelError(
            "TRK-204",
            f"{', '.join(pinned.volatile)}: its value changes although no source does, so the content "
            "could not be told from a stale one",
            remedy="Leave it out (dbt tests and views may use it), or set `volatile_functions: full` to "
            "recompute on every run.",
        )


def _reload_on_other_columns(decision: Decision, here: Situation, columns: tuple[Column, ...]) -> Decision:
    """`select *` over a source that got another column: the text is the same, the table is not."""
    if decision.work in (Work.OVERWRITE, Work.DELTA) and here.before is not None and here.before.columns != columns:
        if more := _only_more(here.before.columns, columns):
            # As an edit of the query would have it, which need not be made.
            return Decision("ALTER", f"it has more columns ({', '.join(more)}); {decision.reason}", Work.LOAD)
        anew = Decision("REINITIALIZE", f"its columns changed; {decision.reason}", Work.LOAD)
        return _redefined(here, anew)
    return decision


def _only_more(before: Sequence[Column], columns: Sequence[Column]) -> list[str]:
    """Those that came, where all others are as they were."""
    known, now = {(each.name, each.type) for each in before}, {(each.name, each.type) for each in columns}
    return [each.name for each in columns if (each.name, each.type) not in known] if known < now else []


def _redefined(here: Situation, decision: Decision) -> Decision:
    """What is read was defined otherwise. That is no way of refreshing, so `refresh_mode` does not forbid it."""
    if here.request.config.on_source_change == "fail" and not here.request.full_refresh:
        raise ModelError(
            "TRK-215",
            f"what it reads is another thing now ({decision.reason}), and `on_source_change` is `fail`",
            remedy="Bring the source back to what it was, use `on_source_change: auto`, or run --full-refresh once.",
        )
    return decision
