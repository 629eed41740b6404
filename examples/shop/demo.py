"""The shop in two minutes: load, refresh, change the sources, refresh again, compare with the full queries.

    python examples/shop/demo.py

Every step is a dbt command that can as well be typed in this folder. They run in one process here, so
that Spark starts once. Exit code 1 when a model did something else than expected, or holds wrong rows.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbt.cli.main import dbtRunner
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

HERE = Path(__file__).resolve().parent
# What each does when its sources change.
CHANGED = {
    "daily_revenue": "DIFFERENTIAL",
    "monthly_revenue": "DIFFERENTIAL",
    "order_lines_enriched": "DIFFERENTIAL",
    "region_totals": "DIFFERENTIAL",
    "top_customers": "DIFFERENTIAL",
    "category_prices": "NO_DATA",  # its source does not
}
ALL = sorted(CHANGED)

# A pipe has no width; the report wants some.
console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)


@dataclass(frozen=True)
class Run:
    title: str
    expected: dict[str, str]  # model → action
    change_sources: bool = False


RUNS = (
    Run("The first run creates the stream tables", dict.fromkeys(ALL, "FULL")),
    Run("Nothing has changed", dict.fromkeys(ALL, "NO_DATA")),
    Run(
        "After inserts, late rows, updates, deletes and a moved customer",
        CHANGED,
        change_sources=True,
    ),
    Run("Nothing has changed", dict.fromkeys(ALL, "NO_DATA")),
)


def main() -> int:
    started = time.monotonic()
    for leftover in (".trickle", "target", "logs"):
        shutil.rmtree(HERE / leftover, ignore_errors=True)

    problems: list[str] = []
    report = Table(title="What each run did", title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    report.add_column("model", no_wrap=True)
    report.add_column("action", no_wrap=True)
    report.add_column("reason")
    for column in ("rows in", "rows out", "seconds"):
        report.add_column(column, justify="right")

    console.print("Starting Spark and loading the shop's raw tables …")
    dbt("run-operation", "load_sources")
    for number, run in enumerate(RUNS, start=1):
        console.print(f"\n[bold]{run.title}[/bold]")
        if run.change_sources:
            dbt("run-operation", "apply_changes")
        dbt("run")
        problems += add_to(report, number, run)

    console.print("\n[bold]Each stream table against its full query, and the other tests[/bold]")
    if not dbt("test"):
        problems.append("dbt test found differences (see above)")

    console.print()
    console.print(report)
    seconds = time.monotonic() - started
    if problems:
        console.print("\n[bold red]Not as expected:[/bold red]")
        for problem in problems:
            console.print(f"  {problem}")
        return 1
    console.print(
        f"\n[bold green]Every stream table equals its query.[/bold green] {seconds:.0f} seconds in all.\n"
        "Look around in examples/shop: `dbt show --inline 'select * from {{ ref(\"region_totals\") }}'`."
    )
    return 0


def dbt(*arguments: str) -> bool:
    """Runs a dbt command of this project; prints dbt's own line for each model and test."""
    console.print("$ dbt " + " ".join(arguments), style="dim")
    place = ["--project-dir", str(HERE), "--profiles-dir", str(HERE), "--threads", "4"]
    answer = dbtRunner(callbacks=[show]).invoke(["--quiet", *arguments, *place])
    if answer.exception:
        console.print(str(answer.exception), style="red", markup=False)
        sys.exit(1)
    if not answer.success and arguments[0] != "test":
        sys.exit(1)
    return answer.success


def show(event: Any) -> None:
    # dbt prints errors itself, even when it is told to be quiet.
    if event.info.name in ("LogModelResult", "LogTestResult") and event.info.level != "error":
        console.print("  ", Text.from_ansi(event.info.msg), sep="")


def add_to(report: Table, number: int, run: Run) -> list[str]:
    """One section of the report, from what dbt wrote of the run; returns what was not as expected."""
    results = json.loads((HERE / "target" / "run_results.json").read_text(encoding="utf-8"))["results"]
    done = {result["unique_id"].split(".")[-1]: result for result in results}
    report.add_section()
    report.add_row(f"[bold]run {number}[/bold]")
    problems = []
    for model, expected in run.expected.items():
        result = done[model]
        response = result["adapter_response"]
        action = response.get("action", "?")
        report.add_row(
            model,
            f"[dim]{action}[/dim]" if action == "NO_DATA" else action,
            # The whole reason says of each source how much of it changed, and how that was read.
            response.get("reason", "").rpartition("; ")[2],
            signed("+", response.get("rows_inserted")),
            signed("−", response.get("rows_deleted")),
            f"{result['execution_time']:.1f}",
        )
        if action != expected:
            problems.append(f"run {number}: {model} did {action}, expected {expected}")
    return problems


def signed(sign: str, rows: int | None) -> str:
    return f"{sign}{rows}" if rows else ""


if __name__ == "__main__":
    sys.exit(main())
