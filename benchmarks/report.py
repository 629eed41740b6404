"""A scenario's figures as JSON, as a page and as a plot."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.engine import Run
from benchmarks.measure import WORK, Work, label, typical
from benchmarks.plot import svg

RESULTS = Path(__file__).with_name("results")
_UNITS = {"C": "C", "share": "×", "MB": "MB", "ms": "ms"}


@dataclass(frozen=True)
class Row:
    """One figure. `target`: at most so much, or with `at_least` no less; `rivals`: the same by other means."""

    what: str
    value: float
    unit: str = "C"
    target: float | None = None
    at_least: bool = False
    rivals: Mapping[str, float] = field(default_factory=dict)
    work: Work | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        if self.target is None:
            return None
        return self.value >= self.target if self.at_least else self.value <= self.target


@dataclass(frozen=True)
class Table:
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Result:
    scenario: str
    title: str
    about: str
    rows: tuple[Row, ...]
    tables: tuple[Table, ...] = ()


def machine(loads: tuple[float, float]) -> dict[str, Any]:
    """On what it was measured, and how quiet that was."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cores": os.cpu_count(),
        "memory_gb": round(memory / 1e9),
        "python": platform.python_version(),
        "pyspark": version("pyspark"),
        "load_before": round(loads[0], 1),
        "load_after": round(loads[1], 1),
    }


def write(result: Result, about: Mapping[str, Any], folder: Path = RESULTS) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    data = json.dumps({"run": about, **asdict(result)}, indent=1, ensure_ascii=False)
    (folder / f"{result.scenario}.json").write_text(data + "\n", encoding="utf-8")
    (folder / f"{result.scenario}.md").write_text(page(result, about), encoding="utf-8")
    (folder / f"{result.scenario}.svg").write_text(svg(result.title, bars(result)), encoding="utf-8")


def bars(result: Result) -> list[tuple[str, float, float | None, str]]:
    """Of each figure a bar, and of each rival one below it."""
    found = []
    for row in result.rows:
        found.append((row.what, row.value, row.target, row.unit))
        found += [(f"{row.what}: {name}", value, None, row.unit) for name, value in row.rivals.items()]
    return found


def page(result: Result, about: Mapping[str, Any]) -> str:
    facts = "; ".join(f"{key.replace('_', ' ')} {value}" for key, value in about.items())
    rivals = list(dict.fromkeys(name for row in result.rows for name in row.rivals))
    counts = any(row.work is not None for row in result.rows)
    header = ("", "figure", "target", *rivals, *(WORK if counts else ()), "")
    lines = [[*_figures(row, rivals), *(_counted(row.work) if counts else ()), row.note] for row in result.rows]
    parts = [f"# {result.title}", result.about.strip(), f"*{facts}*", f"![{result.title}]({result.scenario}.svg)"]
    parts.append(markdown(header, lines))
    for table in result.tables:
        parts += [f"## {table.title}", markdown(table.header, table.rows)]
    return "\n\n".join(parts) + "\n"


def _figures(row: Row, rivals: Sequence[str]) -> list[str]:
    target = ""
    if row.target is not None:
        target = f"{'≥' if row.at_least else '≤'} {_told(row.target, row.unit)}{'' if row.met else ' **missed**'}"
    others = [_told(row.rivals[name], row.unit) if name in row.rivals else "" for name in rivals]
    return [row.what, _told(row.value, row.unit), target, *others]


def _told(value: float, unit: str) -> str:
    digits = 2 if value < 10 else 0
    return f"{value:.{digits}f} {_UNITS[unit]}"


def _counted(work: Work | None) -> list[str]:
    if work is None:
        return ["" for _ in WORK]
    return [size(getattr(work, name)) if name in ("read", "written") else str(getattr(work, name)) for name in WORK]


def size(count: int) -> str:
    if count < 1000:
        return f"{count} B"
    return f"{count / 1e3:.0f} kB" if count < 1e6 else f"{count / 1e6:.1f} MB"


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '¦') for cell in line)} |" for line in lines)


def seconds(runs: Sequence[Run]) -> float:
    return median(run.seconds for run in runs)


def work(runs: Sequence[Run]) -> Work:
    return typical([run.work for run in runs])


def where_time_goes(title: str, runs: Sequence[Run], c: float) -> Table:
    """Medians by statement, where all runs asked the same; and what is left for Python."""
    asked = [[(part, label(each.sql)) for part, each in run.statements] for run in runs]
    alike = [run for run, labels in zip(runs, asked, strict=True) if labels == asked[-1]]
    rows = []
    for at, (part, text) in enumerate(asked[-1]):
        took = median(run.statements[at][1].seconds for run in alike)
        done = typical([run.statements[at][1].work for run in alike])
        counts = (str(done.jobs), str(done.rows), size(done.read), size(done.written))
        rows.append((part, f"`{text}`", f"{took / c:.2f}", *counts))
    python = median(run.seconds - sum(each.seconds for _, each in run.statements) for run in alike)
    rows.append(("", "Python between the statements", f"{python / c:.2f}", "", "", "", ""))
    note = "" if len(alike) == len(runs) else f" ({len(alike)} of {len(runs)} runs asked just this)"
    return Table(title + note, ("part", "statement", "C", "jobs", "rows", "read", "written"), tuple(rows))


def phases(title: str, runs_by_name: Mapping[str, Sequence[Run]], c: float) -> Table:
    """The phases as the refresh itself records them (`phase_ms` of its history)."""
    spent = {
        name: [run.outcomes[0].refresh.phase_ms or {} for run in runs if run.outcomes]
        for name, runs in runs_by_name.items()
    }
    names = list(dict.fromkeys(key for all_runs in spent.values() for one in all_runs for key in one))
    rows = [
        (name, *(f"{median(one.get(key, 0) for one in all_runs) / 1000 / c:.2f}" for key in names))
        for name, all_runs in spent.items()
    ]
    return Table(title, ("C", *names), tuple(rows))
