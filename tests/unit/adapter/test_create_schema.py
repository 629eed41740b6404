"""dbt creates the schemas of all models before any of them runs: what cannot be one is refused there."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from dbt.adapters.spark.impl import SparkAdapter
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.trickle.impl import TrickleAdapter


@pytest.fixture
def created(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    created: list[str] = []
    monkeypatch.setattr(SparkAdapter, "create_schema", lambda _, relation: created.append(relation.schema))
    return created


def adapter(method: str) -> TrickleAdapter:
    made = object.__new__(TrickleAdapter)
    made.config = SimpleNamespace(credentials=SimpleNamespace(method=method))
    return made


@pytest.mark.parametrize("schema", ["s" * 129, "größe", "2024"])
def test_the_embedded_metastore_is_not_asked_for_what_it_cannot_have(created: list[str], schema: str) -> None:
    with pytest.raises(DbtRuntimeError, match=r"TRK-105\] a model's `schema`, or the profile's: the name"):
        adapter("session").create_schema(SimpleNamespace(schema=schema))
    assert created == []


@pytest.mark.parametrize(("method", "schema"), [("session", "s" * 128), ("thrift", "s" * 129)])
def test_others_are_created_and_a_server_knows_its_own_limits(created: list[str], method: str, schema: str) -> None:
    adapter(method).create_schema(SimpleNamespace(schema=schema))
    assert created == [schema]
