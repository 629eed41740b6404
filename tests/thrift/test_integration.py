"""integration_tests/ over a thrift server: the same scenarios, models and expectations."""

from __future__ import annotations

from typing import Any

import pytest
from integration.scenario_suite import ScenarioSuite
from thrift_server import ThriftServer


@pytest.mark.spark
@pytest.mark.thrift
class TestScenariosOverThrift(ScenarioSuite):
    @pytest.fixture(scope="class")
    def scenario_profile(self, server: ThriftServer) -> dict[str, Any]:
        return server.target("integration")
