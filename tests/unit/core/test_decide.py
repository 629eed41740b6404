"""The decision, one row a state (fixtures/decisions.yml)."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.config import StreamTableConfig
from dbt_trickle.errors import TrickleError
from dbt_trickle.formats.base import SourceVersion
from dbt_trickle.plan.decide import Facts, decide

README = Path(__file__).parents[3] / "README.md"
MOVED = {"shop.orders": {"version": 8}}
NOTHING_TOLD = ("held", "")
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
    told["is_first"] = decision.is_first
    assert {key: told[key] for key in expected} == expected
    assert decision.reason, "every decision says why"


def outcome(facts: Facts) -> tuple[str, str]:
    try:
        decision = decide(facts)
    except TrickleError as problem:
        return ("error", problem.code)
    return (decision.action, decision.work.name)


def test_what_is_skipped_is_skipped_whatever_the_warehouse_would_tell() -> None:
    """A run decides on skipping before it asks the warehouse: with all facts the answer must be the same."""
    told = [("previous_storage_missing", True), ("shows_another", True), ("storage_touched", "somebody"), NOTHING_TOLD]
    seen = set()
    for sampled, suspended, fingerprint, change, status, (name, value) in product(
        (False, True),
        ("", "USER", "ERRORS"),
        ("old", "new"),
        ("apply", "continue", "fail"),
        (None, "active", "suspended"),
        told,
    ):
        case = {
            "state": {"suspended_by": suspended},
            "config": {"on_configuration_change": change, "status": status},
            "facts": {"sampled": sampled, "fingerprint": fingerprint},
        }
        known = facts_of(case)
        if (before := outcome(known)) in (("SKIP", "NOTHING"), ("error", "TRK-106")):
            seen.add(before)
            assert outcome(replace(known, **{name: value}, unversioned=("a file",))) == before, case
    assert seen == {("SKIP", "NOTHING"), ("error", "TRK-106")}


# Words of each row of the README's table that decide() answers, what makes it apply, and the answer.
ROWS: list[tuple[str, dict[str, Any], tuple[str, str]]] = [
    ("`--empty` or `--sample`", {"facts": {"sampled": True}}, ("SKIP", "PLACEHOLDER")),
    ("`status: suspended`", {"state": {"suspended_by": "USER"}}, ("SKIP", "NOTHING")),
    ("it does not exist yet", {"facts": {"public_is_ours": False}}, ("FULL", "LOAD")),
    ("another run has altered it", {"facts": {"fingerprint": "new", "deploys": False}}, ("SKIP", "NOTHING")),
    (
        "its query or its layout changed, and",
        {"facts": {"fingerprint": "new"}, "config": {"on_configuration_change": "continue"}},
        ("SKIP", "NOTHING"),
    ),
    (
        "suspended after three failures",
        {"state": {"suspended_by": "ERRORS"}, "facts": {"fingerprint": "old"}},
        ("SKIP", "NOTHING"),
    ),
    (
        "`trickle_respect_schedule: true`",
        {"facts": {"not_due": "not due", "fingerprint": "old", "full_refresh": False}},
        ("SKIP", "NOTHING"),
    ),
    ("what it reads agrees on no state", {"facts": {"apart": "so"}}, ("SKIP", "NOTHING")),
    ("its storage is gone", {"facts": {"previous_storage_missing": True}}, ("REINITIALIZE", "LOAD")),
    ("its query or its layout changed |", {"facts": {"fingerprint": "new"}}, ("ALTER", "LOAD")),
    ("a refresh found", {"state": {"needs_reinit": True, "reinit_reason": "so"}}, ("REINITIALIZE", "LOAD")),
    ("somebody else wrote", {"facts": {"storage_touched": "somebody"}}, ("REINITIALIZE", "LOAD")),
    ("`--full-refresh`", {"facts": {"full_refresh": True}}, ("FULL", "OVERWRITE")),
    ("no source moved", {}, ("NO_DATA", "NOTHING")),
    ("`refresh_mode: full`", {"config": {"refresh_mode": "full"}, "frontier": MOVED}, ("FULL", "OVERWRITE")),
    ("what changed can be worked out", {"frontier": MOVED}, ("DIFFERENTIAL", "DELTA")),
]


# Lines below others that hold at the same time, and then lead to something else.
EXCEPT = {
    ("its query or its layout changed, and", "`--full-refresh`"),
    ("what it reads agrees on no state", "its storage is gone"),
}


@pytest.mark.parametrize("number", range(len(ROWS)), ids=[row[0] for row in ROWS])
def test_the_rows_of_the_readme_apply_in_its_order(number: int) -> None:
    """Each with whatever of the rows below it can hold at the same time."""
    merged: dict[str, Any] = {}
    for words, applies, _ in reversed(ROWS[number:]):
        if words.startswith("what it reads agrees") and ROWS[number][2] == ("FULL", "LOAD"):
            continue  # the first load is the error TRK-216 then
        if (ROWS[number][0], words) in EXCEPT:
            continue
        if applies.get("frontier") is None or number >= len(ROWS) - 2:
            for part, given in applies.items():
                merged[part] = {**merged.get(part, {}), **given}
    assert outcome(facts_of(merged)) == ROWS[number][2]


def test_the_readme_has_the_rows() -> None:
    table = README.read_text(encoding="utf-8").split("## How a refresh is decided")[1]
    places = [table.index(f"| {words}") for words, _, _ in ROWS]
    assert places == sorted(places)
