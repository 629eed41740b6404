"""The corpus: every query that is known here, by a name, with what a refresh of it does."""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

import sql_functions
import tables
import yaml

from dbt_trickle.tree.build import Schema, Unsupported, build

HERE = Path(__file__).parent
ENGINE = HERE.parent / "functional" / "engine"
RECORDED = HERE / "recorded.yml"
SCHEMAS = {
    table: Schema(table, tuple((name.strip("`").replace("``", "`"), kind) for name, (kind, _) in columns.items()))
    for table, columns in tables.TABLES.items()
}
# Of two of their columns, which are written differently, Spark makes one name: `!(amount = 1)`, `amount != 1`.
NAMED_TWICE = ("b7e520fa", "c5577304", "d012150d")
HEADER = """\
# What becomes of each query of the corpus: it is maintained, or recomputed for this reason.
# Written where TRICKLE_ORACLE_RECORD is set; read the difference before it is committed.
"""


def of_small_tables() -> dict[str, str]:
    """The queries whose plans are compared with Spark's, those of the oracle's grammar, and those written for this."""
    planned = yaml.safe_load((ENGINE / "tree_queries.yml").read_text(encoding="utf-8"))
    grown = yaml.safe_load((HERE / "grown.yml").read_text(encoding="utf-8"))
    written = yaml.safe_load((HERE / "written.yml").read_text(encoding="utf-8"))
    return {
        # By what they say: others come to stand between them.
        **{f"planned_{_crc(text)}": named(text) for text in planned},
        **{f"grown_{number}": text for number, text in enumerate(grown)},
        **{f"calling_{name}": text for name, text in sql_functions.queries().items()},
        **{f"written_{name}": text for name, text in written.items()},
    }


def _crc(text: str) -> str:
    return f"{crc32(text.encode()):08x}"


def named(text: str) -> str:
    """A stream table's columns have names of their own; in a query for looking at its plan they need not."""
    plain = text.format(**{name: name for name in tables.TABLES})
    try:
        names = build(plain, SCHEMAS).output_names
    except Unsupported:
        return text
    if len({name.lower() for name in names}) == len(names) and _crc(text) not in NAMED_TWICE:
        return text
    return f"select * from (\n{text}\n) as named ({', '.join(f'c{i}' for i in range(len(names)))})"


def of_tpch() -> dict[str, str]:
    return yaml.safe_load((HERE / "tpch.yml").read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def recorded() -> dict[str, str]:
    if not RECORDED.exists():
        return {}
    return yaml.safe_load(RECORDED.read_text(encoding="utf-8")) or {}


def record(found: dict[str, str]) -> None:
    text = yaml.safe_dump({**recorded(), **found}, sort_keys=True, allow_unicode=True, width=1000)
    RECORDED.write_text(HEADER + text, encoding="utf-8")
