"""What is known of a source's capture is known by its name, and a path by its case as well."""

from __future__ import annotations

from dbt_trickle.catalog.state import Dependency
from dbt_trickle.config import ProjectSettings, SourceSettings, StreamTableConfig
from dbt_trickle.formats.base import SourceVersion
from dbt_trickle.names import Relation
from dbt_trickle.run.captures import Captures
from dbt_trickle.run.request import Request

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
