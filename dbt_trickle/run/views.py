"""A view's definition as Spark tells it, and its text as a subquery of equal meaning."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dbt_trickle.names import quote
from dbt_trickle.tree.fingerprint import ALWAYS, has_meaning


@dataclass(frozen=True)
class ViewText:
    text: str
    schema: str  # where unqualified names in the text are looked up
    columns: tuple[tuple[str, str], ...]  # (the view's name, the name in the text's result)
    settings: Mapping[str, str]

    @property
    def digest(self) -> str:
        parts = [self.text, self.schema, [list(pair) for pair in self.columns]]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> ViewText:
        columns = tuple((str(outer), str(inner)) for outer, inner in row["columns"])
        return cls(row["text"], row["schema"], columns, dict(row["settings"]))

    def unlike(self, meaning: Mapping[str, str]) -> str:
        """Spark evaluates a view under the settings it was made with; inlined it would get ours.

        What neither has set is the same for both. Of ANSI mode and the zone older views do not tell.
        """
        for key in sorted(filter(has_meaning, {*self.settings, *meaning})):
            mine, theirs = self.settings.get(key), meaning.get(key)
            if mine is None and key in ALWAYS:
                continue
            if (mine or "").lower() != (theirs or "").lower():
                made, has = (f"{key}={value}" if value is not None else f"no {key}" for value in (mine, theirs))
                return f"it was made with {made}, the session has {has}"
        return ""

    def as_subquery(self, pinned_text: str) -> str:
        chosen = ", ".join(f"{quote(inner)} AS {quote(outer)}" for outer, inner in self.columns)
        return f"(SELECT {chosen} FROM (\n{pinned_text}\n))"


def parse_view(described: str) -> ViewText:
    """The answer of DESCRIBE TABLE EXTENDED … AS JSON."""
    found = json.loads(described)
    outer = [column["name"] for column in found["columns"]]
    inner = found.get("view_query_output_columns")
    inner = json.loads(inner) if isinstance(inner, str) else inner
    if not inner or len(inner) != len(outer):
        inner = outer
    schema = str(found.get("view_catalog_and_namespace", "spark_catalog.default")).split(".")[-1].strip("`")
    return ViewText(
        text=found["view_text"],
        schema=schema,
        columns=tuple(zip(outer, inner, strict=True)),
        settings=found.get("view_creation_spark_configuration") or {},
    )
