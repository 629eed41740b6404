"""Refreshes that leave the storage alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dbt_trickle.catalog import store, tables
from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.config import ProjectSettings, StreamTableConfig
from dbt_trickle.names import Relation
from dbt_trickle.run.announced import Planned
from dbt_trickle.run.invocation import Invocation
from dbt_trickle.run.refresh import refresh
from dbt_trickle.run.request import Request
from dbt_trickle.run.situation import meaning_of, with_meaning
from dbt_trickle.tree import fingerprint

TABLE = StreamTable(5, "shop", "totals", "model.shop.totals", is_populated=True, status="ACTIVE", batch=3)
PUBLIC = Relation.of("shop", "totals")
REQUEST = Request(5, "model.shop.totals", PUBLIC, "select 1 from shop.gone", "", StreamTableConfig(), existing="view")
SETTINGS = {"spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "UTC"}
MEANT = fingerprint.of(REQUEST.query, {}, SETTINGS)


class Journal:
    """A warehouse that only takes what is appended to the catalog."""

    def __init__(self) -> None:
        self.closed = False

    def execute(self, sql: str) -> None:
        assert not self.closed, sql

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        assert not self.closed, sql
        return []


def test_switched_off_for_the_whole_project() -> None:
    times = iter(("opened", "ended"))
    run = Invocation("i", ProjectSettings(enabled=False), lambda: next(times))
    run._catalog = store.Catalog(tables.SCHEMA_VERSION, {5: TABLE})
    run._states = {5: TABLE}
    session = Journal()
    run.open(session, [Planned(5, "r", PUBLIC)])
    session.closed = True

    # The text would be refused by all that follows, and --full-refresh asks for work: neither is looked at.
    request = Request(5, "model.shop.totals", PUBLIC, "no query", "no query", StreamTableConfig(), full_refresh=True)
    outcome = refresh(request, session, run)

    row = outcome.refresh
    assert (row.action, row.status, row.reason) == ("SKIP", "SKIPPED", "`trickle_enabled` is false")
    assert (row.start_time, row.end_time) == ("opened", "ended")
    assert (outcome.state, outcome.statements, outcome.events, outcome.moved) == (None, (), (), False)
    assert not run.is_pending(5)
    assert run.state(5) == TABLE, "it stays as it was"


def test_what_is_suspended_asks_nothing_of_its_sources() -> None:
    """One of them may be gone, which may be why."""
    for suspended in (
        replace(TABLE, suspended_by="USER"),
        replace(TABLE, suspended_by="ERRORS", consecutive_errors=3, fingerprint=MEANT, layout=REQUEST.layout),
    ):
        run = Invocation("i", ProjectSettings(), lambda: "now")
        run._catalog = store.Catalog(tables.SCHEMA_VERSION, {5: suspended})
        run._states = {5: suspended}
        run._meaning = SETTINGS
        session = Journal()
        run.open(session, [Planned(5, "r", PUBLIC)])
        session.closed = True
        outcome = refresh(REQUEST, session, run)
        assert (outcome.refresh.action, outcome.refresh.status) == ("SKIP", "SKIPPED")
        assert outcome.refresh.reason in ("suspended by the user", "suspended after 3 errors")


def test_settings_are_read_again_where_hooks_may_have_changed_them() -> None:
    class Session(Journal):
        def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
            return [{"key": "spark.sql.ansi.enabled", "value": "true", "zone": "Asia/Tokyo"}]

    run = Invocation("i", ProjectSettings(), lambda: "now")
    run._meaning = SETTINGS
    request = Request(5, "model.shop.totals", Relation.of("shop", "totals"), "select 1", "", StreamTableConfig())
    assert meaning_of(with_meaning(request, Session()), Session(), run) == SETTINGS
    hooked = with_meaning(replace(request, hooked=True), Session())
    assert meaning_of(hooked, Session(), run)["spark.sql.session.timeZone"] == "Asia/Tokyo"
    assert with_meaning(hooked, Session()) is hooked, "its hooks run before the refresh and after it"
    assert meaning_of(request, Session(), run) == SETTINGS, "other models have hooks of their own"
