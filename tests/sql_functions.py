"""SQL functions for tests to call, as `{lib}.name(…)`: one of each shape that a query may have in another one."""

from __future__ import annotations

from pathlib import Path

import yaml

QUERIES = Path(__file__).parent / "functional" / "engine" / "function_queries.yml"
FUNCTIONS = {
    "plus": "(x BIGINT, y BIGINT DEFAULT 1) RETURNS BIGINT DETERMINISTIC RETURN x + y",
    # A parameter that is used twice.
    "squared": "(x BIGINT) RETURNS BIGINT RETURN x * x + x",
    "label": "(x STRING) RETURNS STRING RETURN coalesce(upper(trim(x)), 'it''s none')",
    # One that calls others.
    "tagged": "(x STRING, n BIGINT) RETURNS STRING RETURN concat({lib}.label(x), '-', {lib}.plus(n))",
    "band": "(x DECIMAL(10, 2)) RETURNS STRING RETURN CASE WHEN x > 20 THEN 'high' WHEN x > 0 THEN 'low' END",
    "half": "(x DOUBLE) RETURNS DOUBLE RETURN x / 2",
    "letters": "(x STRING) RETURNS ARRAY<STRING> RETURN split(x, '')",
    "both": "(x BIGINT, s STRING) RETURNS STRUCT<k: BIGINT, s: STRING> RETURN named_struct('k', x, 's', s)",
    "as_map": "(x STRING) RETURNS MAP<STRING, INT> RETURN map(coalesce(x, ''), 1)",
    # Called as an aggregate of Spark's is.
    "first": "(x BIGINT) RETURNS BIGINT RETURN -x",
}


def created(lib: str) -> list[str]:
    return [f"CREATE OR REPLACE FUNCTION {lib}.{name}{text.format(lib=lib)}" for name, text in FUNCTIONS.items()]


def names(lib: str) -> frozenset[str]:
    """As a tree's builder is given them."""
    return frozenset(f"{lib}.{name}" for name in FUNCTIONS)


def queries() -> dict[str, str]:
    return yaml.safe_load(QUERIES.read_text(encoding="utf-8"))  # type: ignore[no-any-return]
