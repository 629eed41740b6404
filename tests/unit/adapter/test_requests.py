"""From dbt's graph to a request: what is said of the sources themselves."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dbt.adapters.trickle import requests
from dbt_trickle.config import ProjectSettings, SourceSettings, StreamTableConfig
from dbt_trickle.errors import ConfigError
from dbt_trickle.names import Relation
from dbt_trickle.run import recover
from dbt_trickle.run.request import Request


def node(name: str, materialized: str, *reads: str, **more: Any) -> dict[str, Any]:
    config = {"materialized": materialized, **more.pop("config", {})}
    return {"name": name, "unique_id": f"model.p.{name}", "schema": "Shop", "config": config, **more} | {
        "depends_on": {"nodes": list(reads)}
    }


def source(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "unique_id": f"source.p.{name}", "schema": "raw", "identifier": name, "config": {}, **more}


def asked(graph: dict[str, Any], **config: Any) -> Request:
    made = node("totals", "stream_table", *graph["reads"], config=config)
    return requests.request(
        made, "select 1", graph, existing=None, shown=None, sampled=False, full_refresh=False, project="p",
        dbt_target="t", settings=ProjectSettings(),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("hook", "variables"),
    [
        ("declare or replace variable cutoff int default 3", True),
        ({"sql": "SET VAR cutoff = 4", "transaction": True}, True),
        ("insert into log values (1)", False),
        ("set spark.sql.session.timeZone = UTC", False),
    ],
)
def test_variables_that_a_hook_sets(hook: Any, variables: bool) -> None:
    """The query may name one, and its value is no source's."""
    request = asked(graph(), **{"pre-hook": [hook]})
    assert (request.hooked, request.variables) == (True, variables)


def graph(*reads: str, nodes: tuple[dict[str, Any], ...] = (), sources: tuple[dict[str, Any], ...] = ()) -> Any:
    return {
        "reads": reads,
        "nodes": {n["unique_id"]: n for n in nodes},
        "sources": {s["unique_id"]: s for s in sources},
    }


def test_a_source_s_own_word_wins_over_the_model() -> None:
    given = graph(
        "source.p.orders",
        "source.p.plain",
        sources=(source("orders", meta={"trickle": {"cdc_mode": "feed"}, "owner": "me"}), source("plain")),
    )
    made = asked(given, cdc_mode="log")
    assert [made.capture_of(name) for name in ("raw.orders", "RAW.Orders", "raw.plain")] == ["feed", "feed", "log"]
    assert made.config == StreamTableConfig(cdc_mode="log")


def test_through_views_and_ephemeral_models_and_no_further() -> None:
    allowed = {"meta": {"trickle": {"enable_change_feed": True}}}
    given = graph(
        "model.p.v",
        nodes=(
            node("v", "view", "model.p.e"),
            node("e", "ephemeral", "source.p.orders", "model.p.t"),
            node("t", "table", "source.p.hidden", config=allowed),
        ),
        sources=(source("orders", config=allowed), source("hidden", meta={"trickle": {"cdc_mode": "log"}})),
    )
    enabled = SourceSettings(enable_change_feed=True)
    assert asked(given).sources == {"raw.orders": enabled, "shop.t": enabled}


def test_a_deferred_relation_is_the_same_source() -> None:
    deferred = {"defer_relation": {"schema": "prod", "alias": "t"}, "meta": {"trickle": {"cdc_mode": "log"}}}
    given = graph("model.p.t", nodes=(node("t", "table", **deferred),))
    assert set(asked(given).sources) == {"shop.t", "prod.t"}


@pytest.mark.parametrize(
    ("trickle", "message"),
    [
        ({"cdc_mode": "wal"}, r"TRK-102.*`meta.trickle.cdc_mode` of raw.orders is 'wal'.*\n.*auto, feed, log"),
        ({"enable_change_feed": "yes"}, r"TRK-102.*enable_change_feed.*\n.*true, false"),
        ({"cdcmode": "log"}, r"TRK-101.*cdcmode.*\n.*Did you mean `cdc_mode`"),
        ("log", r"TRK-102.*`meta.trickle` of raw.orders is 'log'"),
    ],
)
def test_what_is_not_known_is_refused(trickle: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        asked(graph("source.p.orders", sources=(source("orders", meta={"trickle": trickle}),)))


def test_the_text_of_a_view_is_in_what_the_cache_knows() -> None:
    text = "SELECT `a`,\n`b` FROM `changes`.`st_5_g1`"
    told = f"Catalog: spark_catalog\nType: VIEW\nView Text: {text}\nView Original Text: {text}\nView Schema Mode: X\n"
    found = requests.view_text(SimpleNamespace(information=told))
    assert found is not None
    assert found.strip() == text
    assert recover.shown(found, 5) == Relation.of("changes", "st_5_g1")
    assert recover.shown(found, 6) is None
    assert recover.shown("SELECT * FROM `prod`.`totals`", 5) is None
    assert requests.view_text(SimpleNamespace(information="Type: MANAGED\nSchema: root\n")) is None
    assert requests.view_text(None) is None
