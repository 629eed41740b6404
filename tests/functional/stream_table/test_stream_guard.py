"""Only refreshes write to a stream table: what others try is refused, or found and repaired; and what is told of it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from shop import Shop, model, sources

pytestmark = pytest.mark.spark

QUERY = "select id, amount from {{ source('shop', 'orders') }}"
FIRST, SAME = ("FULL", "first load"), ("NO_DATA", "no source moved")
WRITES = {
    "insert": "insert into guarded values (9, 9)",
    "overwrite": "insert overwrite guarded values (9, 9)",
    "update": "update guarded set amount = 0",
    "delete": "delete from guarded where id = 1",
    "merge": "merge into guarded t using (select 1 as id) s on t.id = s.id when matched then delete",
    "truncate": "truncate table guarded",
}


class TestGuard:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "sources.yml": sources("orders"),
            "guarded.sql": model(QUERY),
            "shown.sql": model(QUERY, expose="table"),
            "strict.sql": model(QUERY, refresh_mode="differential"),
        }

    def test_writes_to_a_public_view_are_refused(self, shop: Shop) -> None:
        shop.table("orders")
        shop.step({"guarded": FIRST})
        for kind, statement in WRITES.items():
            with pytest.raises(Exception, match=r"(?i)view|not allowed|not supported") as refused:
                shop.sql(statement)
            assert "guarded" in str(refused.value), kind
        assert shop.difference("guarded") == []
        shop.step({"guarded": SAME})

    def test_writes_to_a_storage_are_found(self, shop: Shop) -> None:
        shop.table("orders")
        names = ("guarded", "shown", "strict")
        shop.run(*names, flags=("--full-refresh",))
        stored = {name: shop.state(name).storage_relation for name in names}
        # What leaves the rows as they are is no write of rows.
        for storage in stored.values():
            shop.sql(f"alter table {storage} set tblproperties ('who' = 'me')", f"optimize {storage}")
        shop.sql(f"vacuum {stored['guarded']}")
        shop.step(dict.fromkeys(names, SAME))
        assert self.told(shop) == []

        for name, storage in stored.items():
            shop.sql(f"insert into {storage} (id, amount) values (99, 99)", f"optimize {storage}")
            assert shop.difference(name) != []
        results = shop.run(*names, ok=False)
        for name in ("guarded", "shown"):
            answer = results[name].adapter_response
            assert answer["action"] == "REINITIALIZE"
            assert answer["reason"].startswith("somebody else wrote to its storage (WRITE, version ")
        assert "TRK-213" in results["strict"].message
        assert shop.difference("guarded", "shown") == []
        told = self.told(shop)
        assert sorted(event for event, _ in told) == [
            "external_write", "external_write", "external_write", "refresh_failed",
            "reinitialize_needed", "reinitialize_needed",
        ]  # fmt: skip
        assert all(payload["operation"] == "WRITE" for event, payload in told if event == "external_write")

        # Told once, although nobody has repaired it.
        results = shop.run(*names, ok=False)
        assert [event for event, _ in self.told(shop) if event == "external_write"] == ["external_write"] * 3
        log = (Path(os.environ["DBT_LOG_PATH"]) / "dbt.log").read_text(encoding="utf-8")
        assert log.count(f"external_write: stream table {shop.schema}.strict") == 1
        assert f"refresh_completed: stream table {shop.schema}.guarded" in log
        reason = re.search(r"somebody else wrote .*\)", results["strict"].message)
        assert reason is not None
        shop.step({"strict": ("REINITIALIZE", reason.group())}, "--full-refresh")
        shop.step(dict.fromkeys(names, SAME))

    def told(self, shop: Shop) -> list[tuple[str, dict[str, Any]]]:
        rows = shop.sql(
            f"select event, payload from {shop.catalog}.pgt_events "
            f"where get_json_object(payload, '$.relation') like '{shop.schema}.%' and event <> 'refresh_completed'"
        )
        return [(row.event, json.loads(row.payload)) for row in rows]

    def test_a_dropped_storage_is_loaded_anew(self, shop: Shop) -> None:
        shop.run("guarded")
        shop.sql(f"drop table {shop.state('guarded').storage_relation}")
        shop.step({"guarded": ("REINITIALIZE", "its storage is gone")})
