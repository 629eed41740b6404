"""What dbt's threads share is taken in one order only, or two of them wait for each other for ever."""

from __future__ import annotations

import threading

from dbt_trickle.catalog.state import Refresh, StreamTable
from dbt_trickle.config import ProjectSettings
from dbt_trickle.names import Relation
from dbt_trickle.run.announced import Outcome
from dbt_trickle.run.invocation import Invocation

PATIENCE = 5.0


def test_a_refresh_that_ends_while_another_one_pins_its_sources() -> None:
    run = Invocation("i", ProjectSettings(), lambda: "2026-01-01T00:00:00+00:00")
    row = Refresh("r", 1, "i", "2026-01-01T00:00:00+00:00", action="FULL", status="COMPLETED")
    outcome = Outcome(row, StreamTable(1, "shop", "totals", "model.shop.totals"))
    ending = threading.Thread(target=run.finish, args=(outcome,), daemon=True)
    looking = threading.Thread(target=run.stream_table_at, args=(Relation.of("shop", "totals"),), daemon=True)
    with run.sources._guard:  # as while a source is looked up
        ending.start()
        ending.join(0.2)
        looking.start()
        looking.join(PATIENCE)
        assert not looking.is_alive(), "looking for a stream table waits for a refresh that waits for it"
    ending.join(PATIENCE)
    assert not ending.is_alive()
