"""`make demo`'s program, run as it runs it: it ends well, and its report tells what each run did."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SHOP = Path(__file__).parents[2] / "examples" / "shop"
LEFT_BY_EARLIER_RUNS = (".trickle", "target", "logs", ".user.yml")
LONGEST_DEMO = 500.0
LINE = re.compile(r"^ +(?:run (?P<run>\d) *|(?P<model>\w+) +(?P<action>[A-Z_]+) .*)$")

MOVED = {
    "daily_revenue": "DIFFERENTIAL",
    "monthly_revenue": "DIFFERENTIAL",
    "order_lines_enriched": "DIFFERENTIAL",
    "region_totals": "DIFFERENTIAL",
    "top_customers": "DIFFERENTIAL",
}
ALL = sorted([*MOVED, "category_prices"])
NOTHING = dict.fromkeys(ALL, "NO_DATA")
EXPECTED = {
    "1": dict.fromkeys(ALL, "FULL"),
    "2": NOTHING,
    "3": {**NOTHING, **MOVED},
    "4": NOTHING,
}


def reported(output: str) -> dict[str, dict[str, str]]:
    """Run → model → action, from the table at the end."""
    found: dict[str, dict[str, str]] = {}
    run = ""
    for line in map(LINE.match, output.partition("What each run did")[2].splitlines()):
        if line and line["run"]:
            run = line["run"]
            found[run] = {}
        elif line and run:
            found[run][line["model"]] = line["action"]
    return found


@pytest.mark.spark
def test_the_demo_does_what_it_tells(tmp_path: Path) -> None:
    # A copy: a demo that somebody has run in the checkout is theirs to look around in.
    shop = tmp_path / "shop"
    shutil.copytree(SHOP, shop, ignore=shutil.ignore_patterns(*LEFT_BY_EARLIER_RUNS))
    answer = subprocess.run(
        [sys.executable, str(shop / "demo.py")],
        cwd=tmp_path,
        env={**os.environ, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LONGEST_DEMO,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout
    assert reported(answer.stdout) == EXPECTED, answer.stdout
    assert "Every stream table equals its query." in answer.stdout
