"""Hooks of stream tables."""

from __future__ import annotations

from dbt.tests.adapter.hooks import test_model_hooks
from dialect import StreamTables
from hooks import ModelHooks


class TestPrePostModelHooks(StreamTables, ModelHooks, test_model_hooks.BasePrePostModelHooks):
    pass


class TestPrePostModelHooksUnderscores(StreamTables, ModelHooks, test_model_hooks.TestPrePostModelHooksUnderscores):
    pass


class TestDuplicateHooksInConfigs(StreamTables, test_model_hooks.BaseDuplicateHooksInConfigs):
    pass


class TestHookRefs(StreamTables, ModelHooks, test_model_hooks.BaseHookRefs):
    pass


class TestPrePostModelHooksInConfig(StreamTables, ModelHooks, test_model_hooks.BasePrePostModelHooksInConfig):
    pass


class TestPrePostModelHooksInConfigWithCount(
    StreamTables, ModelHooks, test_model_hooks.BasePrePostModelHooksInConfigWithCount
):
    pass


class TestPrePostModelHooksInConfigKwargs(
    StreamTables, ModelHooks, test_model_hooks.BasePrePostModelHooksInConfigKwargs
):
    pass
