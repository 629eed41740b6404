"""The decision, one row a state (fixtures/decisions.yml)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.config import StreamTableConfig
from dbt_trickle.errors import TrickleError
from dbt_trickle.formats.base import SourceVersion
from dbt_trickle.plan.decide import Facts, decide

CASES = yaml.safe_load((Path(__file__).parent / "fixtures" / "decisions.yml").read_text(encoding="utf-8"))


def source(key: str, **changed: Any) -> SourceVersion:
    given = {"kind": "TABLE", "relation": key, "table_id": "id", "version": 7, "committed_at": "then", **changed}
    return SourceVersion(key=key, **given)


def facts_of(case: dict[str, Any]) -> Facts:
    state = None
    if "state" not in case or case["state"] is not None:
        known = {
            "is_populated": True,
            "fingerprint": "old",
            "layout": "old",
            "frontier": {"shop.orders": source("shop.orders")},
            **case.get("state", {}),
        }
        state = StreamTable(1, "shop", "totals", "model.shop.totals", **known)
    frontier = {k: source(k, **v) for k, v in case.get("frontier", {"shop.orders": {}}).items()}
    given = {"fingerprint": "old", "layout": "old", **case.get("facts", {})}
    given["unversioned"] = tuple(given.get("unversioned", ()))
    return Facts(config=StreamTableConfig(**case.get("config", {})), state=state, frontier=frontier, **given)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_decision(case: dict[str, Any]) -> None:
    expected = case["expect"]
    if "error" in expected:
        with pytest.raises(TrickleError) as raised:
            decide(facts_of(case))
        assert raised.value.code == expected["error"]
        return
    decision = decide(facts_of(case))
    told = {"action": decision.action, "work": decision.work.name, "reason": decision.reason}
    told["initiated_by"] = decision.initiated_by
    assert {key: told[key] for key in expected} == expected
    assert decision.reason, "every decision says why"
