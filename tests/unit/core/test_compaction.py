"""What the journal may lose: the statement's own query, run by SQLite, and what the views show before and after."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from dataclasses import astuple, dataclass

from hypothesis import given
from hypothesis import strategies as st

from dbt_trickle.catalog import compaction, tables

OLDEST = 5  # history from before it is not kept; moments are numbers here
STATES = (tables.STREAM_TABLE, tables.DEPENDENCIES, tables.META, tables.MAINTENANCE)


@dataclass(frozen=True)
class Row:
    kind: str
    key: str
    at: int
    seq: int
    payload: str

    @property
    def told(self) -> dict[str, object]:
        found = json.loads(self.payload) if self.payload else None
        return found if isinstance(found, dict) else {}


Journal = list[Row]


def state(kind: str, key: str, payload: str) -> tuple[str, str, str]:
    return kind, key, payload


def invocation(key: str, word: str) -> tuple[str, str, str]:
    return tables.INVOCATION, key, json.dumps({"state": word})


def refresh(number: int, key: str, status: str) -> tuple[str, str, str]:
    return tables.HISTORY, f"{number} {key}", json.dumps({"pgt_id": number, "status": status})


def event(number: int) -> tuple[str, str, str]:
    return tables.EVENT, f"{number}/then/told", json.dumps({"pgt_id": number})


ENTRIES = st.one_of(
    st.builds(state, st.sampled_from(STATES), st.sampled_from("ab"), st.sampled_from(["", '{"n": 1}', "2"])),
    st.builds(invocation, st.sampled_from("ab"), st.sampled_from(["OPEN", "CLOSED"])),
    st.builds(
        refresh,
        st.integers(1, 2),
        st.sampled_from("abc"),
        st.sampled_from(["RUNNING", "COMPLETED", "FAILED", "SKIPPED"]),
    ),
    st.builds(event, st.integers(1, 2)),
)


def begins(payload: str) -> bool:
    return "RUNNING" in payload or "OPEN" in payload


# Entries of one append have one moment, and are told apart by their numbers.
JOURNALS = st.lists(st.tuples(ENTRIES, st.integers(0, 9)), max_size=25).map(
    lambda found: [
        Row(kind, key, at, seq - 1000 if begins(payload) else seq, payload)
        for seq, ((kind, key, payload), at) in enumerate(found)
    ]
)


def superseded(journal: Journal, oldest: int = OLDEST) -> set[Row]:
    connection = sqlite3.connect(":memory:")
    connection.create_function("get_json_object", 2, lambda text, path: json.loads(text).get(path.removeprefix("$.")))
    connection.execute("CREATE TABLE journal (kind, key, at, seq, payload)")
    connection.executemany("INSERT INTO journal VALUES (?, ?, ?, ?, ?)", map(astuple, journal))
    found = connection.execute(compaction.superseded("journal", str(oldest))).fetchall()
    assert len(found) == len(set(found)), "a MERGE wants each row once"
    by_name = {astuple(row)[:4]: row for row in journal}
    return {by_name[row] for row in found}


def newest(journal: Journal, kind: str) -> dict[str, Row]:
    found: dict[str, Row] = {}
    for row in sorted(journal, key=lambda row: (row.seq >= 0, row.at, row.seq)):
        if row.kind == kind:
            found[row.key] = row
    return found


def shown(journal: Journal) -> object:
    """The views' content, and what a run reads, as far as the retention goes."""
    states = {kind: {k: r for k, r in newest(journal, kind).items() if r.payload} for kind in STATES}
    unclosed = {k for k, r in newest(journal, tables.INVOCATION).items() if r.told["state"] == "OPEN"}
    history = {r for r in newest(journal, tables.HISTORY).values() if r.at >= OLDEST or r.told["status"] == "RUNNING"}
    last: dict[object, Row] = {}
    for row in sorted(newest(journal, tables.HISTORY).values(), key=lambda row: (row.at, row.seq)):
        last[row.told["pgt_id"]] = row
    return states, unclosed, history, last, {r for r in journal if r.kind == tables.EVENT and r.at >= OLDEST}


@given(JOURNALS)
def test_nobody_sees_that_it_was_compacted(journal: Journal) -> None:
    gone = superseded(journal)
    assert shown([row for row in journal if row not in gone]) == shown(journal)


@given(JOURNALS)
def test_what_is_left_is_needed(journal: Journal) -> None:
    kept = set(journal) - superseded(journal)
    needed = {row for kind in STATES for row in newest(journal, kind).values() if row.payload}
    needed |= {r for r in newest(journal, tables.INVOCATION).values() if r.told["state"] == "OPEN"}
    refreshes = set(newest(journal, tables.HISTORY).values())
    needed |= {r for r in refreshes if r.at >= OLDEST or r.told["status"] == "RUNNING"}
    needed |= {row for row in journal if row.kind == tables.EVENT and row.at >= OLDEST}
    assert kept >= needed
    # Beyond that: of each stream table one old refresh.
    more: dict[object, set[Row]] = defaultdict(set)
    for row in kept - needed:
        more[row.kind, row.told["pgt_id"]].add(row)
    assert all(kind == tables.HISTORY and len(rows) == 1 for (kind, _), rows in more.items())


@given(JOURNALS, JOURNALS, st.integers(OLDEST, 20))
def test_what_is_superseded_stays_so(journal: Journal, later: Journal, oldest: int) -> None:
    """So an append during a compaction, or another compaction, takes nothing from anybody."""
    appended = [Row(row.kind, row.key, row.at + 10, row.seq + 100, row.payload) for row in later]
    gone = superseded(journal)
    assert gone <= superseded([*journal, *appended], oldest)
    assert not superseded([row for row in journal if row not in gone])


def test_two_entries_of_one_instant_both_stay() -> None:
    one, other = (Row(tables.META, "a", 1, 1, payload) for payload in ("1", "2"))
    assert superseded([one, other]) == set()


def test_the_statement_is_of_whole_days() -> None:
    sql = compaction.compact("trickle", 90)
    assert sql.startswith("MERGE INTO `trickle`.`pgt_journal` AS j USING (")
    assert "at < date_trunc('DAY', current_timestamp()) - INTERVAL 90 DAYS)" in sql
    assert sql.endswith("WHEN MATCHED THEN DELETE")
