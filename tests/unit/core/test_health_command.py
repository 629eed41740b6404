"""What `trickle health` shows, and how it ends; what is found out of the sources: test_capture_health.py."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pytest
from click.testing import CliRunner, Result
from lagging_sources import NOW, SETTINGS, Source, append, at, reader

from dbt_trickle.catalog import store
from dbt_trickle.catalog.state import Dependency, HeldBack, StreamTable
from dbt_trickle.cli.main import Place, cli
from dbt_trickle.formats.base import SourceVersion
from dbt_trickle.run import clock


@dataclass
class Project:
    session: Source
    settings = SETTINGS

    @contextmanager
    def connect(self) -> Iterator[Source]:
        yield self.session


def command(source: Source, *readers: tuple[StreamTable, Dependency], output: str = "text") -> Result:
    """`trickle health` over what the catalog has of these."""
    for table, row in readers:
        source.journal += [store.stream_table(table), store.dependencies(table.pgt_id, [row])]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Place, "project", lambda place: Project(source))
        patched.setattr(clock, "now", lambda: NOW)
        return CliRunner().invoke(cli, ["health", "--output", output])


HEADINGS = "source|capture|reason|slowest reader|has version|readable from|newest|behind|bytes|time|state"


@pytest.mark.parametrize(
    ("size", "row", "exit_code"),
    [
        (5_000_000, "shop.orders|TRIGGER|of 1|shop.st_1|1|1|2|1|5.0 MB|1d|ok", 0),
        (
            2 * 10**8,
            "shop.orders|TRIGGER|of 1|shop.st_1|1|1|2|1|200.0 MB|1d|"
            "warning: 200 MB were written since, 100 MB are allowed",
            0,
        ),
        (
            10**9,
            "shop.orders|TRIGGER|of 1|shop.st_1|1|1|2|1|1.0 GB|1d|"
            "critical: 1000 MB were written since, 1000 MB are allowed",
            1,
        ),
    ],
    ids=["ok", "warning", "critical"],
)
def test_each_source_has_a_line(size: int, row: str, exit_code: int) -> None:
    source = Source(append(1, 1), append(2, 2, size))
    said = command(source, reader(1, 1, 1))
    assert [re.sub(r" {2,}", "|", line.rstrip()) for line in said.output.splitlines()] == [HEADINGS, row]
    assert said.exit_code == exit_code
    assert len(source.written) == (0 if row.endswith("ok") else 1), "its event"


def test_it_tells_another_program_the_same() -> None:
    said = command(Source(append(1, 1), append(2, 2, 10**9)), reader(1, 1, 1), output="json")
    [told] = json.loads(said.stdout)
    assert said.exit_code == 1
    assert (told["lag_bytes"], told["lag_seconds"], told["level"]) == (10**9, 86400, "critical")
    assert {"consumers", "readable_until", "slowest_pgt_id"} <= set(told)


def test_it_names_what_is_stale() -> None:
    """It is no reason to end with an error: the source may have had nothing new."""
    table, row = reader(1, 1, 1)
    late = replace(table, is_populated=True, data_timestamp=at(1).isoformat(), schedule="1d")
    source = Source(append(1, 1))
    said = command(source, (late, row))
    assert said.output.splitlines()[-1] == "shop.st_1 is stale: its data is 5d old, its schedule is 1d"
    assert said.exit_code == 0
    assert ["stale" in sql for sql in source.written] == [True]


def test_it_names_what_is_held_back() -> None:
    """By whom, where the others of its diamond say so."""
    held = HeldBack("changes.st_1_g1", 1, (), at(1).isoformat(), at(2).isoformat())
    rest = {"is_populated": True, "diamond_consistency": "atomic"}
    (first, row), (second, _) = reader(1, 2, 2), reader(2, 1, 1)
    first = replace(first, **rest, held_back=held)
    source = Source(append(1, 1))
    assert command(source, (first, row)).output.splitlines()[-1] == (
        f"shop.st_1 is held back: readers see its rows of {at(1).isoformat()}; the next run shows it"
    )
    reads = {f"pgt_{n}": SourceVersion(f"pgt_{n}", "STREAM_TABLE", f"shop.st_{n}", "", 1, "") for n in (1, 2)}
    third = replace(second, pgt_id=3, pgt_name="st_3", frontier=reads, **rest)
    said = command(source, (first, row), (replace(second, **rest), row), (third, row))
    assert said.output.splitlines()[-1].endswith("; shop.orders is at version 2 in shop.st_1 and at 1 in shop.st_2")


def test_it_says_where_there_is_nothing_yet() -> None:
    said = command(Source())
    assert (said.exit_code, said.output) == (
        0,
        "No sources yet: `dbt run` creates stream tables with materialized='stream_table'.\n",
    )
