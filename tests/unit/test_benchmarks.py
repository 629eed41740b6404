"""What the benchmarks say is what they measured: their pure parts, and the pages that are made of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from statement_counts import PAGE, load, page

from benchmarks import plot, report
from benchmarks.engine import Part, Run
from benchmarks.measure import Recorder, Statement, Work, commits_below, label, peak_memory, typical
from dbt_trickle.errors import WarehouseError


class Answers:
    """A session that fetches three rows, and refuses DROP."""

    def execute(self, sql: str) -> None:
        if sql.startswith("DROP"):
            raise WarehouseError("TRK-301", "no")

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        return [{"n": n} for n in range(3)]


class Growing:
    """Each look finds another job, and ten bytes more."""

    def __init__(self) -> None:
        self.looks = 0

    def __call__(self) -> Work:
        self.looks += 1
        return Work(jobs=self.looks, read=10 * self.looks)


def run_of(seconds: float, *statements: tuple[str, float]) -> Run:
    made = tuple(Statement(sql, took, Work(statements=1, jobs=2)) for sql, took in statements)
    return Run((Part("refresh", seconds, made),), (), 1)


def test_a_recorder_counts_what_each_statement_did() -> None:
    recorder = Recorder(Answers(), Growing())
    recorder.execute("INSERT")
    recorder.query("SELECT")
    assert [each.work for each in recorder.statements] == [
        Work(statements=1, jobs=1, read=10),
        Work(statements=1, jobs=1, rows=3, read=10),
    ]


def test_a_statement_that_fails_is_counted() -> None:
    recorder = Recorder(Answers())
    with pytest.raises(WarehouseError):
        recorder.execute("DROP TABLE t")
    assert [each.sql for each in recorder.statements] == ["DROP TABLE t"]


def test_a_recorders_clock_leaves_its_own_work_out() -> None:
    recorder = Recorder(Answers(), Growing())
    before = recorder.now()
    recorder.overhead += 1000.0
    assert recorder.now() - before < -900


def test_labels_are_the_same_from_run_to_run() -> None:
    one = "MERGE INTO `s`.`st_123_g1` AS t\nUSING (select 1)"
    other = "MERGE INTO `s`.`st_987_g4` AS t USING (select 2)"
    assert label(one) == label(other) == "MERGE INTO s.st AS t USING …"
    assert label("DESCRIBE HISTORY `s`.`t` LIMIT 1") == "DESCRIBE HISTORY s.t LIMIT 1"
    assert label("SELECT * FROM `s`.`t` VERSION AS OF 7") == label("SELECT * FROM `s`.`t` VERSION AS OF 81")
    assert len(label("SELECT " + "x, " * 90)) == 72


def test_typical_work_is_the_median_of_each_count() -> None:
    assert typical([Work(1, 5), Work(3, 4), Work(9, 0)]) == Work(3, 4)


def test_commits_are_the_files_of_logs(tmp_path: Path) -> None:
    log = tmp_path / "s.db" / "t" / "_delta_log"
    log.mkdir(parents=True)
    for name in (f"{0:020d}.json", f"{1:020d}.json", f"{1:020d}.crc", "00000000000000000001.checkpoint.1.json"):
        (log / name).touch()
    assert commits_below(tmp_path) == 2


def test_memory_is_some_megabytes() -> None:
    assert 10e6 < peak_memory() < 10e9


@pytest.mark.parametrize(
    ("row", "met"),
    [
        (report.Row("a", 8.0, target=8.0), True),
        (report.Row("a", 8.1, target=8.0), False),
        (report.Row("a", 0.9, "share", 0.95, at_least=True), False),
        (report.Row("a", 1.0), None),
    ],
)
def test_a_target_is_met_or_missed(row: report.Row, met: bool | None) -> None:
    assert row.met is met


def test_a_page_tells_what_was_missed_and_counted() -> None:
    rows = (
        report.Row("one", 9.0, target=8.0, rivals={"full refresh": 30.0}, work=Work(12, 3, 40, 5, 1500, 2_500_000)),
        report.Row("two", 0.25, target=0.5),
    )
    text = report.page(report.Result("s", "Title", "About.", rows), {"date": "2026-01-01", "rows": 7})
    assert "| one | 9.00 C | ≤ 8.00 C **missed** | 30 C | 12 | 3 | 40 | 5 | 2 kB | 2.5 MB |  |" in text
    assert "| two | 0.25 C | ≤ 0.50 C |  |" in text
    assert "*date 2026-01-01; rows 7*" in text


def test_what_is_written_keeps_figures_and_sizes_apart(tmp_path: Path) -> None:
    result = report.Result("s", "Title", "About.", (report.Row("one", 2.5, work=Work(12)),))
    report.write(result, {"date": "2026-01-01", "rows": 7}, tmp_path)
    data = json.loads((tmp_path / "s.json").read_text(encoding="utf-8"))
    assert data["run"] == {"date": "2026-01-01", "rows": 7}
    assert [(row["what"], row["value"], row["work"]["statements"]) for row in data["rows"]] == [("one", 2.5, 12)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.json", "s.md", "s.svg"]


def test_time_is_told_by_statement_where_runs_are_alike() -> None:
    runs = [
        run_of(1.0, ("SELECT a", 0.2), ("INSERT", 0.6)),
        run_of(2.0, ("SELECT a", 0.4), ("INSERT", 0.8)),
        run_of(9.0, ("SELECT b", 5.0), ("SELECT a", 1.0), ("INSERT", 1.0)),
        run_of(1.0, ("SELECT a", 0.3), ("INSERT", 0.7)),
    ]
    found = report.where_time_goes("Time", runs, 0.5)
    assert found.title == "Time (3 of 4 runs asked just this)"
    assert [(row[1], row[2]) for row in found.rows] == [
        ("`SELECT a`", "0.60"),
        ("`INSERT`", "1.40"),
        ("Python between the statements", "0.40"),
    ]


def test_a_plot_is_xml_with_a_bar_for_each_figure() -> None:
    text = plot.svg(
        "A < B", [("one", 3.0, 8.0, "C"), ("one: full refresh", 300.0, None, "C"), ("none", 0.0, None, "C")]
    )
    root = ElementTree.fromstring(text)
    bars = [each for each in root if each.tag.endswith("rect") and each.get("height") == "15"]
    assert [each.get("fill") for each in bars] == ["#4878a8", "#b8b8b8", "#4878a8"]
    widths = [float(each.get("width", "")) for each in bars]
    assert widths[0] < widths[1]
    assert widths[2] == 0


def test_the_docs_have_the_counts_that_are_tested() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == page(text, load())
