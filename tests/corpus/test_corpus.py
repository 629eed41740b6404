"""Every query of the corpus equals its stream table after each round of changes, by the action recorded of it."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import queries
import sql_functions
import tables
import tpch
from corpus_runs import DIFFERENTIAL, Corpus
from engine_world import World, embedded_sessions

from dbt_trickle.config import ProjectSettings

pytestmark = pytest.mark.spark

# `make oracle` goes through all queries; `make test` has time for one in so many, and for one round.
ROUNDS = int(os.environ.get("TRICKLE_ORACLE_ROUNDS", "1"))
ONE_IN = int(os.environ.get("TRICKLE_ORACLE_ONE_IN", "72"))
SOME = tuple(os.environ.get("TRICKLE_ORACLE_QUERIES", "").split(","))  # of names that begin so
RECORD = bool(os.environ.get("TRICKLE_ORACLE_RECORD"))
SEED = 11


class TestCorpus:
    @pytest.fixture(scope="class")
    def world(self, dbt_profile_target: dict[str, Any]) -> World:
        settings = ProjectSettings(catalog_schema="corpus_catalog", change_schema="corpus_changes")
        connect = embedded_sessions(dbt_profile_target)
        session = connect()  # one for all questions: a new one costs a fifth of what it is asked
        return World.create(connect, settings, lambda: session)

    def test_small_tables(self, world: World) -> None:
        rng = random.Random(SEED)
        names = {name: f"{world.schema}.{name}" for name in tables.TABLES}
        names["lib"] = world.schema
        world.sql(*tables.created(rng, names), *sql_functions.created(world.schema))
        corpus = Corpus(world)
        corpus.load(chosen(queries.of_small_tables()), names)
        for number in range(ROUNDS):
            world.sql(*tables.changed(rng, names))
            corpus.round(f"round {number}")
        finished(corpus)

    def test_tpch(self, world: World, tmp_path: Path) -> None:
        rng = random.Random(SEED)
        program = Path(sys.executable).with_name("tpchgen-cli")
        subprocess.run([program, "parquet", "-s", "0.002", f"--output-dir={tmp_path}"], check=True, capture_output=True)
        names = {name: f"{world.schema}.tpch_{name}" for name in tpch.TABLES}
        world.sql(*tpch.created(tmp_path, names))
        corpus = Corpus(world)
        corpus.load(chosen(queries.of_tpch()), names)
        for number in range(ROUNDS):
            world.sql(*tpch.changed(rng, names))
            corpus.round(f"round {number}")
        finished(corpus)


def chosen(all_of_them: dict[str, str]) -> dict[str, str]:
    found = {name: text for name, text in all_of_them.items() if name.startswith(SOME)}
    if ONE_IN > 1:
        found = {name: text for name, text in found.items() if name in queries.recorded()}
    return dict(list(found.items())[::ONE_IN])


def finished(corpus: Corpus) -> None:
    count = sum(each == DIFFERENTIAL for each in corpus.recorded.values())
    print(f"\n{count} of {len(corpus.recorded)} queries differential, {ROUNDS} rounds; recomputed {corpus.recomputed}")
    assert not corpus.wrong, "\n".join(corpus.wrong)
    if RECORD:
        queries.record(corpus.recorded)
    known = queries.recorded()
    assert corpus.recorded == {name: known.get(name) for name in corpus.recorded}
