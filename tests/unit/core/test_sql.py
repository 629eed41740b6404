"""What is found in a query's text, and how it is edited in place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from dbt_trickle import sql
from dbt_trickle.sql import Analysis, Edit, Unparsed
from dbt_trickle.sql.text import line_and_column, origin, splice
from dbt_trickle.sql.verbatim import called

TABLES = yaml.safe_load((Path(__file__).parent / "fixtures" / "tables.yml").read_text(encoding="utf-8"))


def analysed(text: str) -> Analysis:
    found = sql.analyse(text)
    assert isinstance(found, Analysis), found
    return found


@pytest.mark.parametrize("case", TABLES, ids=[case["sql"][:60] for case in TABLES])
def test_sources(case: dict[str, Any]) -> None:
    found = sql.analyse(case["sql"])
    if isinstance(found, Unparsed):
        # Not understanding is safe: such a query is computed anew on every run. Misunderstanding is not.
        pytest.fail(f"not parsed: {found.reason}")
    assert [".".join(ref.parts) for ref in found.tables] == case["tables"]
    for ref in found.tables:
        written = case["sql"][ref.start : ref.end].replace("``", "\0").replace("`", "").replace("\0", "`")
        assert written == ".".join(ref.parts), "the position is that of the name"


@pytest.mark.parametrize(
    "text",
    [
        "select from",
        "table a.b",
        "insert into a.b select 1",
        "select 1; select 2",
        "",
        "drop table x",
        # No model is one; to sqlglot SCHEMA is the name of a CTE.
        "merge with schema evolution into a.b using a.c on true when not matched then insert *",
    ],
)
def test_what_is_no_query_is_told(text: str) -> None:
    assert isinstance(sql.analyse(text), Unparsed)


@pytest.mark.parametrize(
    ("text", "volatile"),
    [
        ("select rand() from t", ["rand"]),
        ("select * from t where d >= current_date", ["current_date"]),
        ("select * from t where d >= current_date()", ["current_date"]),
        ("select now(), uuid() from t", ["uuid"]),
        ("select current_timestamp from t", ["current_timestamp"]),
        ("select * from t tablesample (10 percent)", ["tablesample without repeatable"]),
        ("select date_trunc('day', ts), to_date(x), unix_timestamp(ts), my_now(x) from t", []),
        ("select t.current_date from t", []),
        ("select '${spark.app.name} and ${env:HOME}' as a from t", ["${spark.app.name}", "${env:HOME}"]),
        ("select '$1.50', '{x}' from t", []),
        ("select aes_encrypt(a, 'k'), aes_encrypt(a, 'k', m) from t", ["aes_encrypt without an initialization vector"]),
        ("select aes_encrypt(a, 'k', 'ecb'), aes_encrypt(a, 'k', 'CBC', 'PKCS', v) from t", []),
        ("select * from t where d = date'today'", ["date 'today'"]),
        ("select * from t where ts > timestamp '08:00'", ["timestamp '08:00'"]),
        (
            "select cast('yesterday' as date), date'2024-01-01', timestamp'2024-01-01 08:00', cast('' as date) from t",
            ["date 'yesterday'"],
        ),
    ],
)
def test_volatile_functions(text: str, volatile: list[str]) -> None:
    found = set(analysed(text).volatile)
    assert bool(found) == bool(volatile)
    assert set(volatile) <= found


def test_a_hint_names_neither_functions_nor_sources() -> None:
    """It says how, and not what: /*+ BROADCAST(c) */ made a query one that is recomputed on each run."""
    found = analysed("select /*+ BROADCAST(c), REPARTITION(3, s.o) */ a from s.o join s.c c using (k)")
    assert ([ref.parts for ref in found.tables], found.unknown_functions) == ([("s", "o"), ("s", "c")], ())
    assert called("select /*+ BROADCAST(c), MERGE(c) */ my_own(a) from s.o join s.c c using (k)") == {"my_own"}


def test_functions_that_may_be_the_user_s_own() -> None:
    assert analysed("select my_udf(x), db.f(y), sum(z) from t").unknown_functions == ("db.f", "my_udf")


def test_time_travel_of_the_user_s_own_is_seen() -> None:
    assert [ref.travels for ref in analysed("select * from a.b version as of 3 x, c.d").tables] == [True, False]


def test_splice_edits_from_the_back() -> None:
    text = "select * from a.b join a.b x"
    edits = [Edit(ref.start, ref.end, f"a.b VERSION AS OF {n}") for n, ref in enumerate(analysed(text).tables)]
    assert sql.splice(text, edits) == "select * from a.b VERSION AS OF 0 join a.b VERSION AS OF 1 x"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("select 1;", "select 1"),
        ("select 1 ; -- done", "select 1"),
        ("select ';'", "select ';'"),
        ("select 1 -- ;", "select 1 -- ;"),
        ("  select 1\n", "select 1"),
    ],
)
def test_closing_semicolon(text: str, left: str) -> None:
    assert sql.without_terminator(text) == left


@pytest.mark.parametrize(("at", "was"), [(0, 0), (7, 7), (14, 14), (20, 14), (26, 15), (30, 19)])
def test_a_place_in_a_text_with_other_names_is_one_of_the_text_as_it_was(at: int, was: int) -> None:
    query = "select k from t where x"
    edits = [Edit(14, 15, "__pgt_source")]
    assert query[:15] + " where x" == query
    assert origin(edits, at) == was
    assert splice(query, edits)[27:] == query[16:]


def test_a_place_is_a_line_and_a_column() -> None:
    assert [line_and_column("a\nbc\n\nd", at) for at in (0, 2, 3, 6)] == [(1, 1), (2, 1), (2, 2), (4, 1)]
