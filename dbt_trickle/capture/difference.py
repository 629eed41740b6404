"""The new version less the old one. It reads both whole, and is right whatever happened in between."""

from __future__ import annotations

from dataclasses import dataclass

from dbt_trickle.capture.base import Window, netted, weighted
from dbt_trickle.formats import delta


@dataclass(frozen=True)
class Difference:
    def changes(self, window: Window) -> str:
        new = weighted(window, delta.at_version(window.relation.sql, window.new), "1L")
        old = weighted(window, delta.at_version(window.before.sql, window.old), "-1L")
        return netted(window, f"{new}\nUNION ALL\n{old}")
