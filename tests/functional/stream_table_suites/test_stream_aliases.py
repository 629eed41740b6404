"""Aliases and custom schemas over stream tables: the hidden storage follows the name that is seen."""

from __future__ import annotations

from dbt.tests.adapter.aliases import test_aliases
from dialect import SparkFiles, StreamTables


class TestAliases(StreamTables, SparkFiles, test_aliases.BaseAliases):
    pass


class TestAliasErrors(StreamTables, SparkFiles, test_aliases.BaseAliasErrors):
    pass


class TestSameAliasDifferentSchemas(StreamTables, SparkFiles, test_aliases.BaseSameAliasDifferentSchemas):
    pass


class TestSameAliasDifferentDatabases(StreamTables, SparkFiles, test_aliases.BaseSameAliasDifferentDatabases):
    """dbt-spark knows one database; for all its name the suite asks for two schemas only."""
