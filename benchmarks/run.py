"""Measures, and writes what was found to benchmarks/results.

python -m benchmarks.run                    all scenarios
python -m benchmarks.run no_change writers  these
python -m benchmarks.run --quick            small sizes, for whoever changes the benchmarks; nothing is written
"""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import sys
import tempfile
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import click

from benchmarks import report
from benchmarks.engine import Bench

SCENARIOS = (
    "no_change",
    "small_change_feed",
    "small_change_log",
    "wide_table",
    "writers",
    "memory",
    "planning",
    "chain",
    "downstream",
    "forest",
)


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(SCENARIOS))
@click.option("--quick", is_flag=True, help="Small sizes; the figures say nothing, and are not kept.")
@click.option("--note", default="", help="What else the machine was doing; kept beside the figures.")
def main(names: tuple[str, ...], quick: bool, note: str) -> None:
    home = Path(tempfile.mkdtemp(prefix="trickle-bench-"))
    # Gigabytes are not left behind by a run that is told to end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        bench = Bench(home, partial(click.echo, err=True))
        bench.warm()
        for name in names or SCENARIOS:
            measure(bench, name, quick, note)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def measure(bench: Bench, name: str, quick: bool, note: str) -> None:
    before = os.getloadavg()[0]
    bench.appends.clear()
    result, sizes = importlib.import_module(f"benchmarks.scenarios.{name}").measure(bench, quick)
    about: dict[str, Any] = {
        "date": date.today().isoformat(),
        **sizes,
        **report.machine((before, os.getloadavg()[0])),
        **({"note": note} if note else {}),
    }
    click.echo(report.page(result, about))
    click.echo(f"(C was {bench.c * 1000:.0f} ms, of {len(bench.appends)} append commits)\n")
    if not quick:
        report.write(result, about)


if __name__ == "__main__":
    main()
