"""Settings that decide what a refresh may do: on_configuration_change, status, refresh_mode, errors in a row."""

from __future__ import annotations

from typing import Any

import pytest
from shop import Shop, model, sources

pytestmark = pytest.mark.spark

QUERY = "select id, amount from {{ source('shop', 'orders') }}"
OTHER = "select id, amount * 2 as amount from {{ source('shop', 'orders') }}"
WINDOW = "select id, row_number() over (order by id) as n from {{ source('shop', 'orders') }}"
BROKEN = "select nope from {{ source('shop', 'orders') }}"
NAMES = ("applied", "continued", "refused", "suspended", "differential", "failing")
MOVED = "orders moved from version 1 to 2"


class TestChoices:
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"vars": {"trickle_max_consecutive_errors": 2}}

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"sources.yml": sources("orders"), **{f"{name}.sql": model(QUERY) for name in NAMES}}

    def test_choices(self, shop: Shop) -> None:
        shop.table("orders")
        shop.step(dict.fromkeys(NAMES, ("FULL", "first load")))
        shop.sql("insert into orders values (3, 'north', 5)")
        shop.write("applied.sql", model(OTHER, on_configuration_change="apply"))
        shop.write("continued.sql", model(OTHER, on_configuration_change="continue"))
        shop.write("refused.sql", model(OTHER, on_configuration_change="fail"))
        shop.write("suspended.sql", model(QUERY, status="suspended"))
        shop.write("differential.sql", model(WINDOW, refresh_mode="differential"))
        shop.write("failing.sql", model(BROKEN))
        results = shop.run(*NAMES, ok=False)
        did = {name: (r.status, r.adapter_response.get("action")) for name, r in results.items()}
        assert did == {
            "applied": ("success", "ALTER"),
            "continued": ("success", "SKIP"),
            "refused": ("error", None),
            "suspended": ("success", "SKIP"),
            "differential": ("error", None),
            "failing": ("error", None),
        }
        assert results["continued"].adapter_response["reason"].endswith("keeps the old definition")
        assert results["suspended"].adapter_response["reason"] == "suspended by the user"
        assert "TRK-106" in results["refused"].message
        assert "TRK-203" in results["differential"].message
        assert "a window without PARTITION BY" in results["differential"].message
        assert {shop.state(name).status for name in ("continued", "refused", "failing")} == {"ACTIVE"}
        assert shop.state("suspended").status == "SUSPENDED"
        assert [row.status for row in shop.history("continued")] == ["COMPLETED", "SKIPPED"]
        for name in set(NAMES) - {"applied"}:
            assert len(shop.sql(f"select * from {name}")) == 2, name

        # The second failure in a row suspends; a third run does not try.
        shop.run("failing", ok=False)
        assert (shop.state("failing").status, shop.state("failing").consecutive_errors) == ("ERROR", 2)
        shop.write("failing.sql", model(QUERY))
        skipped = shop.run("failing")["failing"].adapter_response
        assert (skipped["action"], skipped["reason"]) == ("SKIP", "suspended after 2 errors")

        # A changed model lifts it; so does each other choice when it is taken back.
        shop.write("failing.sql", model(OTHER))
        shop.write("continued.sql", model(QUERY))
        shop.write("refused.sql", model(QUERY))
        shop.write("suspended.sql", model(QUERY, status="active"))
        shop.write("differential.sql", model(QUERY, refresh_mode="full"))
        moved = ("FULL", MOVED)
        expected = dict.fromkeys(("continued", "refused", "suspended"), moved)
        # What was loaded for `auto` has columns that a full refresh has no rows for.
        expected["differential"] = ("REINITIALIZE", MOVED)
        shop.step({**expected, "failing": ("ALTER", "the query changed"), "applied": ("NO_DATA", "no source moved")})
        assert {(shop.state(name).status, shop.state(name).consecutive_errors) for name in NAMES} == {("ACTIVE", 0)}

        # Taken back where no source moved: no commit says so, the catalog must.
        shop.write("suspended.sql", model(QUERY, status="suspended"))
        shop.write("failing.sql", model(BROKEN))
        for _ in range(2):
            shop.run("suspended", "failing", ok=False)
        assert [shop.state(name).status for name in ("suspended", "failing")] == ["SUSPENDED", "ERROR"]
        shop.write("suspended.sql", model(QUERY))
        shop.write("failing.sql", model(OTHER, status="active"))
        shop.step(dict.fromkeys(("suspended", "failing"), ("NO_DATA", "no source moved")))
        assert [shop.state(name).status for name in ("suspended", "failing")] == ["ACTIVE", "ACTIVE"]
