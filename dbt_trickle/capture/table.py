"""What DESCRIBE DETAIL tells of a source and its capture hangs on: its change feed, its size, its retention."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import xxhash

from dbt_trickle.formats import delta

FEED_PROPERTY = "delta.enableChangeDataFeed"
# With Delta's own defaults.
_FILES = ("delta.deletedFileRetentionDuration", timedelta(weeks=1))
_LOG = ("delta.logRetentionDuration", timedelta(days=30))
_PART = re.compile(r"(\d+) *(millisecond|second|minute|hour|day|week)s?", re.IGNORECASE)
_INTERVAL = re.compile(r"(?:interval)? *(?:\d+ *[a-z]+ *)+", re.IGNORECASE)


@dataclass(frozen=True)
class Retention:
    """How long an old version is kept: its files from when they went out of use, its log from its commit on."""

    files: timedelta
    log: timedelta

    @property
    def shortest(self) -> timedelta:
        return min(self.files, self.log)

    def until(self, committed_at: str, replaced_at: str) -> datetime:
        """From then on a VACUUM or a checkpoint may take what the version needs."""
        files, log = datetime.fromisoformat(replaced_at) + self.files, datetime.fromisoformat(committed_at) + self.log
        return min(files, log)


@dataclass(frozen=True)
class TableFacts:
    table_id: str
    properties: Mapping[str, str]
    size: int  # bytes of the newest version
    location: str = ""
    partitions: tuple[str, ...] = ()

    @property
    def feed(self) -> bool:
        return feed_is_on(self.properties)

    @property
    def retention(self) -> Retention | None:
        return retention(self.properties)

    def mark(self, columns: Sequence[tuple[str, str]]) -> str:
        """Of the table as it is defined: another one when it, or what is read of it, becomes another."""
        told = json.dumps([self.table_id, sorted(self.properties.items()), list(columns)])
        return xxhash.xxh64_hexdigest(told.encode())


def table_facts(detail: Mapping[str, Any]) -> TableFacts:
    """Of a row that DESCRIBE DETAIL answers."""
    properties = {str(k): str(v) for k, v in dict(delta.nested(detail.get("properties")) or {}).items()}
    partitions = tuple(str(name) for name in delta.nested(detail.get("partitionColumns")) or ())
    size = int(detail.get("sizeInBytes") or 0)
    return TableFacts(str(detail.get("id")), properties, size, str(detail.get("location") or ""), partitions)


def feed_is_on(properties: Mapping[str, str]) -> bool:
    return _given(properties).get(FEED_PROPERTY.lower(), "").lower() == "true"


def retention(properties: Mapping[str, str]) -> Retention | None:
    """None where it is said in words that are not known."""
    given = _given(properties)
    files, log = (_duration(given[key.lower()]) if key.lower() in given else default for key, default in (_FILES, _LOG))
    return Retention(files, log) if files is not None and log is not None else None


def _duration(text: str) -> timedelta | None:
    if not _INTERVAL.fullmatch(text.strip()) or not (parts := _PART.findall(text)):
        return None
    total = timedelta()
    for count, unit in parts:
        total += timedelta(**{f"{unit.lower()}s": int(count)})
    return total


def _given(properties: Mapping[str, str]) -> dict[str, str]:
    """Delta takes its keys in any case."""
    return {key.lower(): value for key, value in properties.items()}
