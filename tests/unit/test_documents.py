"""The docs are true of the checkout: the files they name are there, every error code is explained."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dbt_trickle import config
from dbt_trickle.cli.main import Commands

ROOT = Path(__file__).parents[2]
CODE = re.compile(r"\bTRK-\d{3}\b")
# `a/b.py` in backticks is taken for a path if it starts with one of these folders.
TOP = sorted(path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith("."))
IN_BACKTICKS = re.compile(r"`([^`\s]+)`")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
ENGINE = ("dbt_trickle", "dbt/adapters/trickle")
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def raised() -> set[str]:
    sources = [*(ROOT / "dbt").rglob("*.py"), *(ROOT / "dbt_trickle").rglob("*.py")]
    sources += (ROOT / "macros").rglob("*.sql")
    return {code for path in sources for code in CODE.findall(path.read_text(encoding="utf-8"))}


def explained() -> set[str]:
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    return {code for line in text.splitlines() if line.startswith("### ") for code in CODE.findall(line)}


def test_every_code_that_the_product_has_is_explained() -> None:
    assert raised() - explained() == set()


def test_every_code_that_is_explained_exists() -> None:
    assert explained() - raised() == set()


def entries() -> dict[str, str]:
    """The paragraphs of errors.md by their codes."""
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    found = {}
    for part in re.split(r"^##+ ", text, flags=re.MULTILINE):
        heading, _, body = part.partition("\n")
        if code := re.match(r"TRK-\d{3}\b", heading):
            found[code.group()] = body
    return found


@pytest.mark.parametrize("code", sorted(explained()))
def test_every_code_says_its_cause_and_what_to_do(code: str) -> None:
    cause, _, remedy = entries()[code].partition("*Do:*")
    assert cause.strip()
    assert remedy.strip()


def paths_named_in(page: Path) -> list[str]:
    names = IN_BACKTICKS.findall(page.read_text(encoding="utf-8"))
    return [n for n in names if "/" in n and n.split("/")[0] in TOP and not re.search(r"[<>{}*…]", n)]


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_every_file_named_exists(page: Path) -> None:
    gone = [name for name in paths_named_in(page) if not (ROOT / name).exists()]
    assert gone == []


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_every_link_leads_somewhere(page: Path) -> None:
    links = LINK.findall(page.read_text(encoding="utf-8"))
    gone = [link for link in links if not (page.parent / link).exists()]
    assert gone == []


def test_the_architecture_page_names_files() -> None:
    assert len(paths_named_in(ROOT / "docs" / "architecture.md")) > 20


def test_the_architecture_page_names_every_module_or_its_folder() -> None:
    """The two roots and `run` are no answer: what is in them is named file by file."""
    named = set(paths_named_in(ROOT / "docs" / "architecture.md"))
    folders = {name.rstrip("/") for name in named if name.endswith("/")} - {"dbt_trickle", "dbt/adapters/trickle"}
    modules = [path.relative_to(ROOT) for root in ENGINE for path in (ROOT / root).rglob("*.py")]
    written = [path for path in modules if path.name not in ("__init__.py", "__version__.py")]
    left = [str(path) for path in written if str(path) not in named and str(path.parent) not in folders]
    assert sorted(left) == []


def first_cells(page: str) -> set[str]:
    """What the tables of a page have in backticks in their first column."""
    lines = (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines()
    return {name for line in lines if line.startswith("| ") for name in IN_BACKTICKS.findall(line.split(" | ")[0])}


@pytest.mark.parametrize("name", [*config.KEYS, *config.VARIABLES])
def test_every_key_and_variable_has_a_row(name: str) -> None:
    assert name in first_cells("configuration.md")


def test_no_row_is_of_a_variable_that_there_is_not() -> None:
    rows = {name for name in first_cells("configuration.md") if name.startswith("trickle_")}
    assert rows - set(config.VARIABLES) == set()


@pytest.mark.parametrize("command", Commands.names)
def test_every_command_has_a_paragraph(command: str) -> None:
    operations = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    assert re.search(rf"^### .*`trickle {command}\b", operations, re.MULTILINE)
