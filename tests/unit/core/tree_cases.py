"""The cases of fixtures/trees.yml: a query, and the tree it becomes or why it becomes none.

`python tests/unit/core/tree_cases.py` (make update-fixtures) writes down what the code does now: read the
difference before it is committed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from dbt_trickle.tree.build import Schema, Unsupported, build
from dbt_trickle.tree.printed import printed

PATH = Path(__file__).parent / "fixtures" / "trees.yml"
ORDERS = Schema(
    "shop.orders",
    (
        ("order_id", "bigint"),
        ("customer_id", "bigint"),
        ("region", "string"),
        ("amount", "decimal(10,2)"),
        ("ordered_at", "timestamp"),
        ("info", "struct<size:int,tag:string>"),
    ),
)
CUSTOMERS = Schema("shop.customers", (("customer_id", "bigint"), ("region", "string"), ("name", "string")))
ODD = Schema("shop.odd", (("Größe in cm", "int"), ("x.y", "int"), ("Order", "string"), ("tags", "map<string,int>")))
NESTED = Schema("shop.nested", (("tags", "map<string,int>"), ("k", "int")))
SOURCES = {"o": ORDERS, "c": CUSTOMERS, "odd": ODD, "nested": NESTED}
# The user's own that a query may call.
FUNCTIONS = ("lib.plus", "lib.count", "spark_catalog.lib.plus")
HEADER = """\
# A query → its operators, or why it is not maintained. Sources: o (shop.orders), c (shop.customers), odd, nested; their
# columns, and the functions of the user's own that may be called, are in tree_cases.py.
# Written by `make update-fixtures`; `about` says what a case is for.
"""


def cases() -> list[dict[str, Any]]:
    return yaml.safe_load(PATH.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def outcome(text: str) -> dict[str, Any]:
    try:
        built = build(text, SOURCES, FUNCTIONS)
    except Unsupported as problem:
        return {"unsupported": problem.reason}
    columns = list(built.output_names)
    return {"tree": printed(built.tree) + "\n", **({"columns": columns} if columns != list(built.tree.columns) else {})}


class _Dumper(yaml.SafeDumper):
    pass


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


def _names(dumper: yaml.SafeDumper, value: list[Any]) -> yaml.SequenceNode:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=isinstance(value[0], str))


_Dumper.add_representer(str, _text)
_Dumper.add_representer(list, _names)


def update() -> None:
    written = []
    for case in cases():
        about = {"about": case["about"]} if "about" in case else {}
        written.append({**about, "sql": case["sql"], **outcome(case["sql"])})
    text = yaml.dump(written, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1000)
    PATH.write_text(HEADER + text.replace("\n- ", "\n\n- "), encoding="utf-8")


if __name__ == "__main__":
    update()
