"""Aliases, and one alias in two schemas. Two databases are not possible: dbt-spark knows one."""

from __future__ import annotations

from dbt.tests.adapter.aliases import test_aliases
from dialect import SparkFiles


class TestAliases(SparkFiles, test_aliases.BaseAliases):
    pass


class TestAliasErrors(SparkFiles, test_aliases.BaseAliasErrors):
    pass


class TestSameAliasDifferentSchemas(SparkFiles, test_aliases.BaseSameAliasDifferentSchemas):
    pass
