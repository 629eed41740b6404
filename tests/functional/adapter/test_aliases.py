"""Aliases, and one alias in two schemas."""

from __future__ import annotations

from dbt.tests.adapter.aliases import test_aliases
from dialect import SparkFiles


class TestAliases(SparkFiles, test_aliases.BaseAliases):
    pass


class TestAliasErrors(SparkFiles, test_aliases.BaseAliasErrors):
    pass


class TestSameAliasDifferentSchemas(SparkFiles, test_aliases.BaseSameAliasDifferentSchemas):
    pass


class TestSameAliasDifferentDatabases(SparkFiles, test_aliases.BaseSameAliasDifferentDatabases):
    """dbt-spark knows one database; for all its name the suite asks for two schemas only."""
