"""A catalog of an older version: the next run brings its views up to date, in place, and goes on."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from engine_world import World

from dbt_trickle.catalog import store, tables
from dbt_trickle.names import Relation
from dbt_trickle.run.session import Session

pytestmark = pytest.mark.spark


class TestCatalogUpgrade:
    def test_views_of_the_first_version(self, connect: Callable[[], Session]) -> None:
        world = World.create(connect)
        orders, catalog = f"{world.schema}.orders", world.settings.catalog_schema
        world.sql(f"CREATE TABLE {orders} USING delta AS SELECT 1 AS id")
        request = world.request("all_of_them", f"SELECT id FROM {orders}", refresh_mode="differential")
        world.run(request)
        number = request.pgt_id
        row = {"pgt_id": number, "source": orders, "source_table_id": "", "source_type": "TABLE", "cdc_mode": "NONE"}
        older = [
            store.Entry(tables.META, "schema_version", "1"),
            store.Entry(tables.DEPENDENCIES, str(number), json.dumps({"rows": [row]})),
        ]
        view = Relation.of(catalog, "cdc_health").sql
        journal, kept = tables.journal(catalog).sql, ", ".join(f"'{key}'" for key in tables.PROPERTIES)
        world.sql(
            store.append(catalog, "a test", older),
            f"ALTER VIEW {view} AS SELECT 'x' AS source",
            f"ALTER TABLE {journal} UNSET TBLPROPERTIES ({kept})",
        )

        assert world.refreshed(request) == "NO_DATA"
        assert store.parse(world.looking.query(store.read_query(catalog))).version == tables.SCHEMA_VERSION
        properties = {r["key"]: r["value"] for r in world.looking.query(f"SHOW TBLPROPERTIES {journal}")}
        assert properties.items() >= tables.PROPERTIES.items()
        [told] = world.looking.query(f"SELECT source, cdc_mode, lag_versions FROM {view}")
        assert dict(told) == {"source": orders, "cdc_mode": "NONE", "lag_versions": 0}

        world.sql(f"INSERT INTO {orders} VALUES (2)")
        assert world.refreshed(request) == "DIFFERENTIAL"
        [told] = world.looking.query(f"SELECT cdc_mode, cdc_reason FROM {view}")
        assert dict(told) == {"cdc_mode": "WAL", "cdc_reason": "its change feed is off"}
