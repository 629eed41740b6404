"""Long names and any description, over the embedded metastore as it is by default: they work, or are refused clearly.

Hive's metastore has a length for each of its columns, and what is longer ends in a stack of DataNucleus'.
One process, hence one Spark, for all of it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from dbt_project import ENVIRONMENT, LONGEST_RUN, Project

pytestmark = pytest.mark.spark

DESCRIPTIONS = {
    "long": "d" * 300,
    "longest": "e" * 5000,
    "quoted": 'it\'s "quoted" `so` \\ and ${spark.app.name}',
    "unicode": "größe 重さ 🎉\nin two lines",
}
COLUMNS = [{"name": name, "description": text} for name, text in DESCRIPTIONS.items()]
SELECTED = ", ".join(f"{number} as {name}" for number, name in enumerate(DESCRIPTIONS))
NAME = "n" * 200
CONFIG = "{{{{ config(materialized='stream_table', {}) }}}} "
FILES = {
    "models/described.sql": CONFIG.format("expose='view'") + f"select {SELECTED}",
    "models/a_table.sql": CONFIG.format("expose='table'") + "select * from {{ ref('described') }}",
    "models/a_view.sql": "select * from {{ ref('described') }}",
    "models/named.sql": CONFIG.format(f"alias='{NAME}'") + "select 1 as id",
    "models/schemas.yml": yaml.safe_dump(
        {
            "models": [
                {"name": name, "description": text, "columns": COLUMNS}
                for name, text in (
                    ("described", DESCRIPTIONS["quoted"]),
                    ("a_table", DESCRIPTIONS["longest"]),
                    ("a_view", DESCRIPTIONS["unicode"]),
                )
            ]
        }
    ),
    "macros/schema.sql": "{% macro generate_schema_name(name, node) %}{{ var('schema', target.schema) }}{% endmacro %}",
}
SCRIPT = """
import json, sys
from dbt.cli.main import dbtRunner
print([dbtRunner().invoke(arguments).success for arguments in json.loads(sys.argv[1])])
"""
LONG_SCHEMA, LONG_OURS = {"schema": "s" * 129}, {"trickle_change_schema": "c" * 129}


def test_long_names_and_descriptions(tmp_path: Path) -> None:
    docs = {"+persist_docs": {"relation": True, "columns": True}}
    project = Project.create(tmp_path, {"type": "trickle", "schema": "shop"}, FILES, models=docs)
    runs = [
        ["build"],
        ["docs", "generate"],
        *(["run", "--select", "described", "--vars", json.dumps(named)] for named in (LONG_SCHEMA, LONG_OURS)),
    ]
    answer = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(runs)],
        cwd=project.root,
        env={**os.environ, **ENVIRONMENT, "DBT_PROFILES_DIR": str(project.root)},
        capture_output=True,
        text=True,
        timeout=LONGEST_RUN,
        check=False,
    )
    output = answer.stdout + answer.stderr
    assert "[True, True, False, False]" in output, output
    assert output.count("[TRK-105]") == 2, output
    assert "a model's `schema`, or the profile's: the name " in output
    assert "variable `trickle_change_schema`: the name " in output
    assert "MetaException" not in output

    nodes = json.loads((project.root / "target" / "catalog.json").read_text(encoding="utf-8"))["nodes"]
    told = {name: {k: c["comment"] for k, c in node["columns"].items()} for name, node in nodes.items()}
    assert told["model.shop.described"] == DESCRIPTIONS
    assert DESCRIPTIONS.items() <= told["model.shop.a_table"].items()
    # dbt-spark writes the comments of its views itself, and loses backslashes and dollars.
    kept = {name: text for name, text in DESCRIPTIONS.items() if name != "quoted"}
    assert kept.items() <= told["model.shop.a_view"].items()
    comments = {name: node["metadata"]["comment"] for name, node in nodes.items()}
    assert comments["model.shop.described"] == DESCRIPTIONS["quoted"]
    assert comments["model.shop.a_table"] == DESCRIPTIONS["longest"]
    assert nodes["model.shop.named"]["metadata"]["name"] == NAME
