"""Rows to a person's terminal or to another program."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

import click
from rich.console import Console
from rich.table import Table

WIDE = 10_000


def show(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str], output: str, empty: str) -> None:
    """`columns`: the row's key → the heading. JSON has all keys of the rows, whatever the table shows."""
    if output == "json":
        click.echo(json.dumps([dict(row) for row in rows], default=_plain, indent=2, ensure_ascii=False))
        return
    if not rows:
        click.echo(empty)
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in columns.values():
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(cell(row.get(key)) for key in columns))
    console = Console()
    if not console.is_terminal:
        # A file or a pipe has no width to fit into: nothing is folded there.
        console = Console(width=WIDE)
    console.print(table, crop=False)


def cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def duration(seconds: int | None) -> str:
    if seconds is None:
        return "–"
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{max(0, seconds)}s"


def size(count: int | None) -> str:
    if count is None:
        return "–"
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count} B"


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
        return moment.isoformat()
    return str(value)
