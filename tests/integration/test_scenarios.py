"""integration_tests/ over the embedded Spark."""

from __future__ import annotations

from typing import Any

import pytest
from integration.scenario_suite import ScenarioSuite


@pytest.mark.spark
class TestScenarios(ScenarioSuite):
    @pytest.fixture(scope="class")
    def scenario_profile(self, dbt_profile_target: dict[str, Any]) -> dict[str, Any]:
        return {**dbt_profile_target, "schema": "integration"}
