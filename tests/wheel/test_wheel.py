"""The wheel has all that an installation needs: a clean environment runs a stream table from it alone."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = {
    "dbt_project.yml": "name: fresh\nprofile: fresh\nversion: '1.0'\n",
    "profiles.yml": "fresh: {target: dev, outputs: {dev: {type: trickle, schema: fresh}}}\n",
    "seeds/orders.csv": "id,amount\n1,10\n2,20\n",
    "models/total.sql": "{{ config(materialized='stream_table') }}\n"
    "select sum(amount) as total from {{ ref('orders') }}\n",
}

pytestmark = pytest.mark.wheel


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """By way of the source distribution, as a package index gets it."""
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--installer", "uv", "--outdir", out, ROOT, cwd=out)
    (built,) = out.glob("*.whl")
    return built


def test_what_is_in_it(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    macros = {f"dbt/include/trickle/{p.relative_to(ROOT)}" for p in (ROOT / "macros").rglob("*.sql")}
    assert macros, "the macros are at the root of the checkout"
    assert macros <= names
    assert "dbt/adapters/trickle/launch_log.properties" in names
    assert "dbt_trickle/py.typed" in names
    for shared in ("dbt/__init__.py", "dbt/adapters/__init__.py", "dbt/include/__init__.py"):
        assert shared not in names, "these belong to dbt itself"
    assert not [name for name in names if name.startswith(("tests/", "macros/", "examples/"))]


def test_a_clean_environment_runs_a_model(wheel: Path, tmp_path: Path) -> None:
    uv = Path(sys.executable).with_name("uv")
    python = tmp_path / "venv" / "bin" / "python"
    run(uv, "venv", "--python", sys.executable, tmp_path / "venv", cwd=tmp_path)
    run(uv, "pip", "install", "--python", python, "-c", constraints(tmp_path), f"{wheel}[embedded]", cwd=tmp_path)
    project = tmp_path / "project"
    for name, text in PROJECT.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    run(python.with_name("dbt"), "build", cwd=project)
    results = json.loads((project / "target" / "run_results.json").read_text())["results"]
    actions = [r["adapter_response"].get("action") for r in results if r["unique_id"].startswith("model.")]
    assert actions == ["FULL"]
    assert "trickle, version" in run(python.with_name("trickle"), "--version", cwd=project)


def constraints(folder: Path) -> Path:
    """The locked versions, without the hashes: pip takes constraints with extras but not both."""
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    pins = [line.rstrip(" \\") for line in lines if line and not line.startswith((" ", "#"))]
    path = folder / "constraints.txt"
    path.write_text("\n".join(pins) + "\n", encoding="utf-8")
    return path
