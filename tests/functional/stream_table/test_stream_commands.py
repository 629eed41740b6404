"""`trickle refresh`, `suspend`, `resume`, `health`, and the dbt test stream_table_healthy, which sees what they do."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result
from shop import Shop, model, sources

from dbt_trickle.cli.main import cli

pytestmark = pytest.mark.spark

QUERY = "select id, amount from {{ source('shop', 'orders') }}"
BROKEN = "select nope from {{ source('shop', 'orders') }}"
HEALTH = """
models:
  - name: plain
    data_tests:
      - stream_table_healthy: {arguments: {warn_after: 1h, error_after: {count: 1, period: day}}}
  - name: failing
    data_tests: [stream_table_healthy]
"""


class TestCommands:
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {
            "vars": {
                "trickle_catalog_schema": "commands",
                "trickle_change_schema": "commands_changes",
                "trickle_max_consecutive_errors": 1,
            },
            "flags": {"require_generic_test_arguments_property": True},
        }

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "sources.yml": sources("orders"),
            "health.yml": HEALTH,
            "plain.sql": model(QUERY),
            "failing.sql": model(QUERY),
            "kept_active.sql": model(QUERY, status="active"),
        }

    def trickle(self, shop: Shop, *arguments: str) -> Result:
        where = ("--project-dir", str(shop.root), "--profiles-dir", str(shop.project.profiles_dir))
        return CliRunner().invoke(cli, [*arguments, *where])

    def health(self, shop: Shop, name: str, ok: bool = True) -> str:
        [result] = shop.dbt("test", "--select", name, ok=ok).values()
        return str(result.status)

    def test_commands(self, project: Any) -> None:
        shop = Shop(project, "commands", "commands_changes")
        shop.table("orders")
        assert self.health(shop, "plain", ok=False) == "fail", "never loaded"
        said = self.trickle(shop, "refresh", "plain", f"{shop.schema}.failing", "model.test.kept_active")
        assert said.exit_code == 0, (said.output, said.exception)
        lines = [line.split() for line in said.output.splitlines()]
        assert lines[0] == ["stream", "table", "result", "action", "+", "rows", "−", "rows", "s", "reason"]
        assert sorted(line[:5] for line in lines[1:]) == [
            [f"{shop.schema}.{name}", "success", "FULL", "2", "0"] for name in ("failing", "kept_active", "plain")
        ]
        [row] = json.loads(self.trickle(shop, "refresh", "plain", "--full-refresh", "--output", "json").stdout)
        assert (row["action"], row["why"], row["rows_deleted"]) == ("FULL", "--full-refresh", 2)
        told = shop.sql("select initiated_by from commands.pgt_refresh_history order by start_time")
        assert [row.initiated_by for row in told] == ["INITIAL"] * 3 + ["MANUAL"]
        assert "TRK-502" in str(self.trickle(shop, "refresh", "nobody").exception)
        assert self.health(shop, "plain") == "pass"

        shop.sql("insert into orders values (3, 'north', 5)")
        said = self.trickle(shop, "suspend", "plain", "kept_active")
        assert said.output.splitlines() == [
            f"{shop.schema}.plain is SUSPENDED",
            f"{shop.schema}.kept_active is SUSPENDED",
            "  but its model is configured with `status: active`, which wins",
        ]
        assert shop.state("plain").status == "SUSPENDED"
        results = shop.run("plain", "kept_active")
        assert results["plain"].adapter_response["reason"] == "suspended by the user"
        assert results["kept_active"].adapter_response["action"] == "FULL"
        assert shop.state("kept_active").status == "ACTIVE"
        assert self.health(shop, "plain") == "warn"
        assert self.trickle(shop, "resume", "plain").output == f"{shop.schema}.plain is ACTIVE\n"
        shop.step({"plain": ("FULL", "orders moved from version 1 to 2")})
        assert self.health(shop, "plain") == "pass"

        [orders] = json.loads(self.trickle(shop, "health", "--output", "json").stdout)
        assert (orders["source"], orders["cdc_mode"], orders["level"]) == (f"{shop.schema}.orders", "WAL", "ok")
        assert orders["confirmed_version"] < orders["newest_version"] == 2, "failing was not refreshed since"

        shop.write("failing.sql", model(BROKEN))
        said = self.trickle(shop, "refresh", "failing")
        assert said.exit_code == 1
        assert "TRK-301" in said.output
        assert shop.state("failing").status == "ERROR"
        assert self.health(shop, "failing", ok=False) == "fail"
        shop.write("failing.sql", model(QUERY))
        assert shop.run("failing")["failing"].adapter_response["action"] == "SKIP"
        [told] = json.loads(self.trickle(shop, "resume", "failing", "--output", "json").stdout)
        assert told == {"relation": f"{shop.schema}.failing", "status": "ACTIVE", "notes": []}
        assert shop.state("failing").consecutive_errors == 0
        shop.step({"failing": ("FULL", "orders moved from version 1 to 2")})
        names = [
            row.event for row in shop.sql("select event from commands.pgt_events where event <> 'refresh_completed'")
        ]
        assert sorted(names) == ["auto_suspended", "refresh_failed"]
