"""Spark's grammar where sqlglot's parser of it knows another one."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import TokenType


class Grammar(SparkParser):
    # Spark knows no `x FOR y IN z`: in a PIVOT it would take in what the FOR is followed by.
    RANGE_PARSERS: ClassVar[dict[TokenType, Any]] = {
        kind: parser for kind, parser in SparkParser.RANGE_PARSERS.items() if kind is not TokenType.FOR
    }

    def _parse_pivot_aggregation(self) -> exp.Expr | None:
        """An expression over aggregates: sqlglot has a call alone."""
        return self._parse_alias(self._parse_disjunction())


class AsWritten(Spark):
    class Parser(Grammar):
        pass
