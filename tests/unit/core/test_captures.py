"""What is known of a source's capture, and of a window of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from dbt_trickle.capture.choose import Refused, Why
from dbt_trickle.catalog.state import Dependency
from dbt_trickle.config import ProjectSettings, SourceSettings, StreamTableConfig
from dbt_trickle.formats import delta
from dbt_trickle.formats.base import SourceVersion
from dbt_trickle.names import Relation
from dbt_trickle.run.captures import Captures
from dbt_trickle.run.request import Request

AT = {version: datetime(2026, 1, version, tzinfo=timezone.utc) for version in (1, 3)}
UPPER, LOWER = "delta./lake/Sales", "delta./lake/sales"


def test_paths_that_differ_in_case_are_captured_by_themselves() -> None:
    request = Request(
        5,
        "model.shop.totals",
        Relation.of("shop", "totals"),
        "select 1",
        "",
        StreamTableConfig(),
        sources={Relation.of("delta", "/lake/Sales").key: SourceSettings(cdc_mode="log")},
    )
    assert (request.capture_of(UPPER), request.capture_of(LOWER)) == ("log", "auto")
    frontier = {path: SourceVersion(path, "TABLE", path, path, 1, "then") for path in (UPPER, LOWER)}
    known = tuple(
        Dependency(5, path, path, "TABLE", cdc_mode=mode, confirmed_version=0)
        for path, mode in ((UPPER, "WAL"), (LOWER, "TRIGGER"))
    )
    captures = Captures(request, ProjectSettings(), known, frontier, {}, "now")
    rows, _ = captures.settle(None, frontier, ())  # type: ignore[arg-type]
    assert rows is not None
    assert [(row.source, row.cdc_mode, row.confirmed_version) for row in rows] == [
        (UPPER, "WAL", 1),
        (LOWER, "TRIGGER", 1),
    ]


def test_what_is_not_known_of_a_window_is_no_sign_that_nothing_moved() -> None:
    """Of two commits one is gone, and the other one is an OPTIMIZE."""

    class Gap:
        def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
            assert sql.startswith("DESCRIBE HISTORY")
            return [{"version": version, "timestamp": AT[version], "operation": "OPTIMIZE"} for version in (3, 1)]

        def execute(self, sql: str) -> None: ...

    request = Request(5, "model.shop.t", Relation.of("shop", "t"), "select 1", "", StreamTableConfig())
    old, new = (
        SourceVersion("shop.orders", "TABLE", "shop.orders", "id", version, delta.instant(AT[version]))
        for version in (1, 3)
    )
    captures = Captures(request, ProjectSettings(), (), {old.key: old}, {}, "now")
    _, chosen = captures.read(Gap(), new, old, (("id", "int"),))
    assert chosen == Refused(Why.GONE, "its transaction log is not complete")
