"""The docs are true of the checkout: the files they name are there, every error code is explained."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = re.compile(r"\bTRK-\d{3}\b")
# `a/b.py` in backticks is taken for a path if it starts with one of these folders.
TOP = sorted(path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith("."))
IN_BACKTICKS = re.compile(r"`([^`\s]+)`")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
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
