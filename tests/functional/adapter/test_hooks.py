"""Hooks before and after runs, models, seeds and snapshots."""
# ruff: noqa: F401

from __future__ import annotations

from typing import Any

from dbt.tests.adapter.hooks import test_model_hooks, test_run_hooks
from dbt.tests.adapter.hooks.test_model_hooks import (
    TestDuplicateHooksInConfigs,
    TestHooksRefsOnSeeds,
    TestPrePostModelHooksOnSeeds,
    TestPrePostModelHooksOnSeedsPlusPrefixed,
    TestPrePostModelHooksOnSeedsPlusPrefixedWhitespace,
    TestPrePostModelHooksOnSnapshots,
    TestPrePostSnapshotHooksInConfigKwargs,
)
from dbt.tests.adapter.hooks.test_run_hooks import TestAfterRunHooks
from hooks import Hooks, ModelHooks


class TestPrePostModelHooks(ModelHooks, test_model_hooks.BasePrePostModelHooks):
    pass


class TestPrePostModelHooksUnderscores(ModelHooks, test_model_hooks.TestPrePostModelHooksUnderscores):
    pass


class TestHookRefs(ModelHooks, test_model_hooks.BaseHookRefs):
    pass


class TestPrePostModelHooksInConfig(ModelHooks, test_model_hooks.BasePrePostModelHooksInConfig):
    pass


class TestPrePostModelHooksInConfigWithCount(ModelHooks, test_model_hooks.BasePrePostModelHooksInConfigWithCount):
    pass


class TestPrePostModelHooksInConfigKwargs(ModelHooks, test_model_hooks.BasePrePostModelHooksInConfigKwargs):
    pass


class TestPrePostRunHooks(Hooks, test_run_hooks.BasePrePostRunHooks):
    table = "on_run_hook"

    def assert_used_schemas(self, project: Any) -> None:
        schemas = project.run_sql(f"select * from {project.test_schema}.schemas", fetch="all")
        assert [tuple(row) for row in schemas] == [(project.test_schema,)]
        # Spark has no databases above schemas: Jinja writes the one that is missing as None.
        schemas = project.run_sql(f"select * from {project.test_schema}.db_schemas", fetch="all")
        assert [tuple(row) for row in schemas] == [("None", project.test_schema)]
