"""`trickle plan` says before what a run does then, and writes nothing."""

from __future__ import annotations

from typing import Any

import pytest
from shop import Shop, model, sources

pytestmark = pytest.mark.spark

TOTALS = "select region, sum(amount) as total, count(*) as n from {{ source('shop', 'orders') }} group by region"
OF_TOTALS = "select n, sum(total) as total from {{ ref('totals') }} group by n"
NUMBERED = "select id, row_number() over (order by id) as n from {{ source('shop', 'orders') }}"


class TestPlan:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "sources.yml": sources("orders"),
            "totals.sql": model(TOTALS, max_change_ratio=1),
            "of_totals.sql": model(OF_TOTALS, max_change_ratio=1),
            "numbered.sql": model(NUMBERED),
            "paused.sql": model("select * from {{ ref('numbered') }}", status="suspended"),
        }

    def test_a_plan_is_what_the_run_does(self, shop: Shop) -> None:
        shop.table("orders", "(1, 'north', 10), (2, 'south', 20), (3, 'west', 4)")
        planned = self.plan(shop)
        names = list(planned)
        assert names.index("totals") < names.index("of_totals") and names.index("numbered") < names.index("paused")
        assert self.actions(planned) == {
            "totals": "FULL",
            "of_totals": "FULL",
            "numbered": "FULL",
            "paused": "SKIP",
        }
        self.holds(shop, planned)

        planned = self.plan(shop)
        assert set(self.actions(planned).values()) == {"NO_DATA", "SKIP"}
        assert shop.trickle("plan", "--fail-on", "full,reinitialize").exit_code == 0
        self.holds(shop, planned)

        shop.sql("insert into orders values (4, 'north', 1), (5, 'west', 9)")
        planned = self.plan(shop)
        assert self.actions(planned) == {
            "totals": "DIFFERENTIAL",
            "of_totals": "DIFFERENTIAL",
            "numbered": "FULL",
            "paused": "SKIP",
        }
        assert list(planned["totals"]["changed"].values()) == [2]
        assert planned["of_totals"]["after"] == [planned["totals"]["relation"]]
        assert "is refreshed before it (DIFFERENTIAL)" in planned["of_totals"]["reason"]
        assert planned["numbered"]["predicted_ms"] > 0
        self.holds(shop, planned)

    def test_a_selection_and_what_is_not_wanted(self, shop: Shop) -> None:
        shop.sql("delete from orders where id = 1")
        assert list(self.plan(shop, "--select", "+of_totals")) == ["totals", "of_totals"]
        assert list(self.plan(shop, "--select", "tag:none")) == []
        assert set(self.plan(shop, "--exclude", "numbered paused")) == {"totals", "of_totals"}
        told = shop.trickle("plan", "--fail-on", "full", ok=None)
        assert told.exit_code == 2
        lines = {line.split()[0].rpartition(".")[2]: line for line in told.output.splitlines() if "orders" in line}
        assert "DIFFERENTIAL" in lines["totals"] and ": 1 " in lines["totals"]
        assert "a window without PARTITION BY" in lines["numbered"]
        assert "TRK-505" in str(shop.trickle("plan", "--fail-on", "fulll", ok=False).exception)

    def test_the_graph(self, shop: Shop) -> None:
        found = shop.trickle_json("graph")
        orders, totals, numbered = (f"{shop.schema}.{name}" for name in ("orders", "totals", "numbered"))
        mine = [each for each in found["stream_tables"] if each["name"].startswith(f"{shop.schema}.")]
        assert [(each["level"], each["name"].rpartition(".")[2], each["reads"]) for each in mine] == [
            (1, "numbered", [orders]),
            (1, "totals", [orders]),
            (2, "of_totals", [totals]),
            (2, "paused", [numbered]),
        ]
        assert orders in found["sources"]
        assert not found["cycles"]
        lines = shop.trickle("graph").output.splitlines()
        assert any(line.split() == ["2", f"{shop.schema}.of_totals", "←", totals] for line in lines), lines

    def test_what_would_fail_is_told(self, shop: Shop) -> None:
        shop.sql("alter table orders rename to gone")
        planned = self.plan(shop, "--select", "totals+")
        shop.sql("alter table gone rename to orders")
        assert self.actions(planned) == {"totals": "ERROR", "of_totals": "ERROR"}
        assert "totals fails before it" in planned["of_totals"]["reason"]
        assert "TRK-202" in planned["totals"]["reason"]

    def test_what_would_fail_over_what_is_altered_before_it_is_told(self, shop: Shop) -> None:
        """It reads a column that is going; and one that reads another column goes on."""
        for text, action in (
            (TOTALS.replace("count(*) as n", "count(*) as m"), "ERROR"),
            (f"{TOTALS} having n > 0", "DIFFERENTIAL"),
        ):
            shop.write("totals.sql", model(text, max_change_ratio=1))
            planned = self.plan(shop, "--select", "totals+")
            assert self.actions(planned) == {"totals": "ALTER", "of_totals": action}, planned
            fails = "totals is altered before it, and by then its query fails: [UNRESOLVED_COLUMN"
            told = fails in planned["of_totals"]["reason"]
            assert told == (action == "ERROR"), planned["of_totals"]
        shop.write("totals.sql", model(TOTALS, max_change_ratio=1))

    def plan(self, shop: Shop, *flags: str) -> dict[str, Any]:
        before = self.commits(shop)
        found = shop.trickle_json("plan", *flags)
        assert self.commits(shop) == before, "nothing is written"
        return {each["relation"].rpartition(".")[2]: each for each in found}

    def commits(self, shop: Shop) -> list[Any]:
        """Of all tables there are."""
        schemas = [row[0] for row in shop.sql("show schemas") if row[0] in (shop.schema, shop.catalog, shop.changes)]
        tables = [f"{schema}.{row.tableName}" for schema in schemas for row in self.listed(shop, schema)]
        return [(table, shop.sql(f"describe history {table} limit 1")[0].version) for table in tables]

    def listed(self, shop: Shop, schema: str) -> list[Any]:
        views = {row.viewName for row in shop.sql(f"show views in {schema}")}
        return [row for row in shop.sql(f"show tables in {schema}") if row.tableName not in views]

    def actions(self, planned: dict[str, Any]) -> dict[str, str]:
        return {name: each["action"] for name, each in planned.items()}

    def holds(self, shop: Shop, planned: dict[str, Any]) -> None:
        done = shop.run(*planned)
        assert {name: done[name].adapter_response["action"] for name in planned} == self.actions(planned)
        for name, each in planned.items():
            if not each["after"]:
                assert each["reason"] == done[name].adapter_response["reason"]


HEEDED = ("--vars", "trickle_respect_schedule: true")


class TestSchedules:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        # The 29th of February comes between two runs of this test at most once in four years.
        return {
            "sources.yml": sources("orders"),
            "totals.sql": model(TOTALS, schedule="downstream"),
            "a_view.sql": "select * from {{ ref('totals') }}",
            "of_totals.sql": model("select n, sum(total) as total from {{ ref('a_view') }} group by n"),
            "seldom.sql": model("select id from {{ source('shop', 'orders') }}", schedule="0 0 29 2 *"),
            "altered.sql": model(
                "select id + {{ var('more', 0) }} as id from {{ source('shop', 'orders') }}", schedule="0 0 29 2 *"
            ),
        }

    def test_what_is_not_due_is_skipped(self, shop: Shop) -> None:
        shop.table("orders")
        first = self.actions(shop, "totals", "a_view", "of_totals", "seldom", "altered")
        assert set(first.values()) == {"FULL"}, "what was never loaded is due"
        fresh = [name for name in ("totals", "seldom", "of_totals") if shop.history(name)[-1].freshness_deadline]
        assert fresh == ["seldom"]
        shop.sql("insert into orders values (3, 'west', 4)")
        seldom = "not due: its schedule is 0 0 29 2 *"
        alone = "nothing downstream of it that was selected is due"
        assert self.told(shop, "seldom", "altered") == dict.fromkeys(("seldom", "altered"), ("SKIP", seldom))
        assert self.told(shop, "path:models/totals.sql") == {"totals": ("SKIP", alone)}
        planned = shop.trickle_json("plan", *HEEDED)
        assert [each["reason"] for each in planned if each["action"] == "SKIP"] == [seldom, seldom]
        # Its consumer, which reads it through a view, has no schedule and is due.
        done = self.actions(shop, "totals", "of_totals")
        assert set(done.values()) <= {"FULL", "DIFFERENTIAL"}
        shop.sql("insert into orders values (4, 'west', 4)")
        assert self.actions(shop, "totals")["totals"] in ("FULL", "DIFFERENTIAL"), "it is named"
        assert self.actions(shop, "seldom", flags=("--full-refresh",)) == {"seldom": "FULL"}
        more = ("--vars", "{trickle_respect_schedule: true, more: 1}")
        assert shop.dbt("run", "--select", "altered", *more)["altered"].adapter_response["action"] == "ALTER"
        shop.sql("insert into orders values (5, 'west', 4)")
        assert shop.run("seldom")["seldom"].adapter_response["action"] in ("FULL", "DIFFERENTIAL"), "a plain run"

    def told(self, shop: Shop, *selected: str) -> dict[str, tuple[str, str]]:
        done = shop.dbt("run", "--select", *selected, *HEEDED)
        answers = {name: result.adapter_response for name, result in done.items()}
        return {name: (answer["action"], answer["reason"]) for name, answer in answers.items() if "action" in answer}

    def actions(self, shop: Shop, *selected: str, flags: tuple[str, ...] = ()) -> dict[str, str]:
        done = shop.dbt("run", "--select", *selected, *HEEDED, *flags)
        answers = {name: result.adapter_response for name, result in done.items()}
        return {name: answer["action"] for name, answer in answers.items() if "action" in answer}
