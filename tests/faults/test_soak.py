"""Stream tables through random changes and faults: never wrong, never dishonest, and not ever bigger."""

from __future__ import annotations

import os
from collections import Counter
from time import monotonic

import pytest
from engine_world import World
from fault_proxy import Keeping
from fault_thrift import ThriftSessions
from soak_world import NAMES, SOME, Soak

from dbt_trickle.run import maintain

pytestmark = pytest.mark.thrift

# Each kind of fault once, over five stream tables. `make soak` takes 25 steps of eleven: 275 refreshes, and those of
# the runs that die.
KINDS = 6
STEPS = int(os.environ.get("TRICKLE_SOAK_STEPS", str(KINDS)))
SEED = int(os.environ.get("TRICKLE_SOAK_SEED", "5"))


# After so many runs the journal is compacted, after so many batches a storage: a tenth of what it is for users.
EVERY = 10


def test_soak(connect: ThriftSessions, wire: Keeping, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maintain, "EVERY", EVERY)
    names = NAMES if STEPS > KINDS else SOME
    soak, began = Soak.of(World.create(connect, None, connect.kept), wire, SEED, names), monotonic()
    assert set(soak.run(connect())) == {"FULL"}
    told, most = [], Counter[str]()
    for step in range(STEPS):
        changes = soak.change()
        fault = soak.fault()
        actions = soak.run(fault.session)
        told.append(f"step {step}: {changes}, {fault.what}: {actions}")
        soak.require_right("\n".join(told))
        assert fault.happened(actions) or not soak.is_first, "\n".join(told)
        most |= Counter(soak.journal())
    ways = soak.require_true_history()
    assert {("groups", "replace"), ("groups", "merge")} <= ways, "few rows, and many"
    assert set(soak.run(connect())) == {"NO_DATA"}
    files = soak.files()
    print("\n".join(told))
    print(
        f"{soak.refreshes} refreshes in {monotonic() - began:.0f} s, beside those of runs that died; files of the "
        f"storages: {files}; the journal at most: {dict(most)}"
    )
    # Runs that died are not counted, and of what is due a run does one: twice as many may come together.
    tables = len(soak.requests)
    assert most["others"] <= 2 * EVERY * (2 * tables + 5)
    assert most["history"] <= soak.runs * 2 * tables
    assert most["files"] <= 2 * EVERY * 6
    assert max(files.values()) <= 3 * EVERY, files
