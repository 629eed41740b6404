"""TPC-H's tables, and changes to all of them that its queries see."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

# A key by which rows are chosen, and what an update sets.
TABLES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "region": ("r_regionkey", ("r_comment = 'changed'",)),
    "nation": ("n_nationkey", ("n_regionkey = (n_regionkey + 1) % 5",)),
    "part": ("p_partkey", ("p_size = 15", "p_type = 'ECONOMY ANODIZED STEEL'", "p_name = concat('forest ', p_name)")),
    "supplier": ("s_suppkey", ("s_nationkey = (s_nationkey + 3) % 25", "s_acctbal = s_acctbal + 10")),
    "partsupp": ("ps_suppkey", ("ps_availqty = ps_availqty + 100", "ps_supplycost = ps_supplycost + 1.5")),
    "customer": ("c_custkey", ("c_mktsegment = 'BUILDING'", "c_acctbal = c_acctbal - 7", "c_nationkey = 2")),
    "orders": (
        "o_orderkey",
        ("o_orderdate = date_add(o_orderdate, 30)", "o_orderstatus = 'F'", "o_comment = 'special requests'"),
    ),
    "lineitem": (
        "l_orderkey",
        ("l_quantity = l_quantity + 20", "l_discount = 0.06", "l_receiptdate = date_add(l_receiptdate, 40)"),
    ),
}


def created(folder: Path, names: Mapping[str, str]) -> list[str]:
    return [
        f"CREATE TABLE {name} USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true') AS "
        f"SELECT * FROM parquet.`{folder}/{table}.parquet`"
        for table, name in names.items()
    ]


def changed(rng: random.Random, names: Mapping[str, str]) -> list[str]:
    """A few rows of each table are updated, deleted, and inserted a second time under another key or the same."""
    found = []
    for table, (key, sets) in TABLES.items():
        name = names[table]
        small = table in ("region", "nation")
        modulus = 5 if small else 97
        found.append(f"UPDATE {name} SET {rng.choice(sets)} WHERE {key} % {modulus} = {rng.randrange(modulus)}")
        if not small:
            found.append(f"DELETE FROM {name} WHERE {key} % 211 = {rng.randrange(211)}")
            found.append(f"INSERT INTO {name} SELECT * FROM {name} WHERE {key} % 173 = {rng.randrange(173)}")
    rng.shuffle(found)
    return found
