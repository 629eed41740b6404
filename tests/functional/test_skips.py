"""The list of skips.py is short and true, and no class of dbt's suites is missing from it and the tests; nor is one of
dbt-spark's own tests."""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import re
import runpy
from functools import cache
from pathlib import Path
from typing import Any

import dbt.tests.adapter
import pytest
import yaml
from skips import OVER_STREAM_TABLES, SKIPS

HERE = Path(__file__).parent
DBT_SPARK = yaml.safe_load((HERE / "dbt_spark_tests.yml").read_text(encoding="utf-8"))
SUITES = Path(next(iter(dbt.tests.adapter.__path__)))
MOST = 15
NAMES = [name for names in SKIPS.values() for name in names]
OURS = [name for name in NAMES if ".py::" in name]
DBTS = [name for name in NAMES if name not in OURS]


@cache
def load(file: str) -> dict[str, Any]:
    """From the file, not taken from the collected tests: those may be a part of the suite only."""
    return runpy.run_path(str(HERE / file))


@cache
def suites() -> dict[type, str]:
    """Each class of dbt's with tests, and its package::class."""
    found = {}
    # Not pkgutil: most of these packages have no __init__.py, and it passes over them.
    for path in (path.relative_to(SUITES) for path in SUITES.rglob("*.py") if path.name != "__init__.py"):
        module = importlib.import_module(f"dbt.tests.adapter.{'.'.join(path.with_suffix('').parts)}")
        for name, suite in inspect.getmembers(module, inspect.isclass):
            if suite.__module__ == module.__name__ and any(n.startswith("test") for n in dir(suite)):
                found[suite] = f"{path.parts[0]}::{name}"
    return found


def only_runs_its_base(suite: type) -> bool:
    """dbt's Test… classes without a body are Postgres' runs of the suites."""
    return suite.__name__.startswith("Test") and all(name.startswith("__") for name in vars(suite))


@cache
def run_in(folder: str) -> frozenset[type]:
    """Of the classes beneath a test's suite only those that dbt runs nowhere by themselves."""
    by_themselves = {suite.__bases__[0] for suite in suites() if only_runs_its_base(suite)}
    met = set()
    for path in (HERE / folder).glob("test_*.py"):
        for name, test in load(f"{folder}/{path.name}").items():
            if name.startswith("Test"):
                beneath = [base for base in test.__mro__ if base in suites() and not only_runs_its_base(base)]
                met.update(beneath[:1], (base for base in beneath if base not in by_themselves))
    return frozenset(met)


def matches(name: str, entry: str) -> bool:
    return entry in (name, name.split("::")[0])


def missing(folder: str, packages: set[str], prefixes: tuple[str, ...]) -> list[str]:
    entries = [name for prefix, _, name in (entry.partition(":") for entry in DBTS) if prefix in prefixes]
    walked = {suite: name for suite, name in suites().items() if name.split("::")[0] in packages}
    assert packages == {name.split("::")[0] for name in walked.values()}
    left = {s: n for s, n in walked.items() if s not in run_in(folder) and not any(matches(n, e) for e in entries)}
    return sorted(name for suite, name in left.items() if not only_runs_its_base(suite))


def test_each_suite_is_run_or_listed() -> None:
    assert missing("adapter", {name.split("::")[0] for name in suites().values()}, ("dbt",)) == []


def test_each_suite_is_run_or_listed_for_stream_tables() -> None:
    assert missing("stream_table_suites", set(OVER_STREAM_TABLES), ("dbt", "stream")) == []


@pytest.mark.parametrize("entry", DBTS)
def test_what_is_listed_as_not_run_is_not_run(entry: str) -> None:
    prefix, _, listed = entry.partition(":")
    found = {suite for suite, name in suites().items() if matches(name, listed)}
    assert found
    assert not found & run_in("adapter" if prefix == "dbt" else "stream_table_suites")


@pytest.mark.parametrize("entry", OURS)
def test_every_skip_names_a_test(entry: str) -> None:
    file, test, *method = entry.split("::")
    found = load(file)[test]
    assert all(hasattr(found, name) for name in method)


def test_the_list_is_short() -> None:
    assert len(SKIPS) <= MOST
    assert all(reason.strip() for reason in SKIPS)


@pytest.mark.parametrize("test", DBT_SPARK["tests"])
def test_each_of_dbt_spark_s_own_tests_is_run_or_listed(test: str) -> None:
    answer = DBT_SPARK["tests"][test]
    if ".py::" in answer:
        file, ours = answer.split("::")
        text = (HERE / file).read_text(encoding="utf-8")
        assert re.search(rf"^(class|def) {ours}\b", text, re.MULTILINE)
        return
    found = {suite for suite in suites() if suite.__name__ == answer}
    assert found, "no class of dbt's is called so"
    listed = {suite for suite in found if any(matches(suites()[suite], entry.removeprefix("dbt:")) for entry in DBTS)}
    assert found <= run_in("adapter") | listed


def test_the_list_is_of_the_dbt_spark_that_is_installed() -> None:
    """Another version may have other tests; with the lowest allowed one this need not hold."""
    assert DBT_SPARK["version"] == importlib.metadata.version("dbt-spark")
