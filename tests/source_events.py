"""Events in a source's life and kinds of sources, as data: read for the test, and written as docs/source-events.md.

python tests/source_events.py    writes the page
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
DATA = ROOT / "tests" / "functional" / "engine" / "source_events.yml"
PAGE = ROOT / "docs" / "source-events.md"

FEED = "delta.enableChangeDataFeed"
NO_PROPERTIES = "none"
HEADER = """# What happens to a source, and what the next refresh does

Written from `tests/functional/engine/source_events.yml` by `make update-fixtures`; `make test` has run each line, and
compared the stream table with its query as multisets.

The second column is the outcome under `refresh_mode: differential`. Where that is an error, the old content serves.
The third column says what `refresh_mode: auto` does instead; without it `auto` does the same, or, where so much has
changed that it is cheaper, FULL (`max_change_ratio`, and what refreshes took). Unless the line says otherwise the
source has its change feed on, and the query names its columns.

Several events between two refreshes are one window: what the history of it holds decides together.
"""


@dataclass(frozen=True)
class Case:
    name: str
    create: tuple[str, ...]
    query: str
    do: tuple[str, ...]
    differential: str  # an action, or the code of an error
    auto: str  # what `refresh_mode: auto` does instead; empty: the same, or FULL
    reason: str
    note: str
    config: dict[str, Any]  # of the stream tables

    @property
    def is_refused(self) -> bool:
        return self.differential.startswith("TRK-")


def load() -> tuple[tuple[Case, ...], tuple[Case, ...]]:
    """The events, and the kinds of sources."""
    data = yaml.safe_load(DATA.read_text(encoding="utf-8"))
    return (
        tuple(_case(entry, data, entry["event"]) for entry in data["events"]),
        tuple(_case(entry, data, entry["kind"]) for entry in data["kinds"]),
    )


def _case(entry: dict[str, Any], default: dict[str, Any], name: str) -> Case:
    return Case(
        name,
        _statements(entry["create"]) if "create" in entry else _created(entry, default),
        entry.get("query", default["query"]),
        _statements(entry["do"]),
        entry["differential"],
        entry.get("auto", ""),
        entry.get("reason", ""),
        " ".join(entry.get("note", "").split()),
        entry.get("config", {}),
    )


def _created(entry: dict[str, Any], default: dict[str, Any]) -> tuple[str, ...]:
    given = entry.get("properties", "")
    properties = given if FEED in given else ", ".join(filter(None, (f"{FEED} = true", given)))
    clause = f" tblproperties ({properties})" if given != NO_PROPERTIES else ""
    return f"create table {entry.get('table', default['table'])}{clause}", entry.get("rows", default["rows"])


def _statements(given: str | list[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def page() -> str:
    events, kinds = load()
    return "\n".join([HEADER, *_table("event", events), "", "## Kinds of sources", "", *_table("source", kinds), ""])


def _table(what: str, cases: tuple[Case, ...]) -> list[str]:
    lines = [f"| {what} | `differential` | `auto` | reason, and what is done |", "|---|---|---|---|"]
    for case in cases:
        told = "; ".join(filter(None, (f"*{case.reason}*" if case.reason else "", case.note.rstrip("."))))
        auto = "" if case.auto == case.differential else case.auto
        lines.append(f"| {case.name} | {_outcome(case.differential)} | {_outcome(auto)} | {told} |")
    return lines


def _outcome(outcome: str) -> str:
    return f"[{outcome}](errors.md)" if outcome.startswith("TRK-") else outcome


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
