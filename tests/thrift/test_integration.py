"""integration_tests/ over a thrift server: the same project and expectations, and of the scenarios those that
send each kind of statement once. All of them take three times as long as embedded."""

from __future__ import annotations

from typing import Any

import pytest
from integration.scenario_suite import ScenarioSuite
from thrift_server import ThriftServer


@pytest.mark.spark
@pytest.mark.thrift
class TestScenariosOverThrift(ScenarioSuite):
    names = (
        "create",
        "nothing changed",
        "a dimension changes",
        "a table is truncated, and an empty one gets its first rows",
        "queries change",
        "full refresh on demand",
    )

    @pytest.fixture(scope="class")
    def scenario_profile(self, server: ThriftServer) -> dict[str, Any]:
        return server.target("integration")
