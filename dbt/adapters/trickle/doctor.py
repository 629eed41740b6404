"""What a project needs in order to run, looked at one thing after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from time import perf_counter

from dbt.adapters.trickle import jars, java
from dbt.adapters.trickle.bridge import Project, open_project, python_version
from dbt_trickle.catalog import tables
from dbt_trickle.errors import TrickleError, WarehouseError
from dbt_trickle.run import repair

EMBEDDED = "session"


@dataclass(frozen=True)
class Check:
    name: str
    ok: bool
    found: str
    remedy: str = ""


def examine(project_dir: str | None, profiles_dir: str | None, target: str | None) -> Iterator[Check]:
    """Each check as it is made. What cannot be tried any more after a failure is not shown as one."""
    yield _versions()
    project: Project | None = None

    def profile() -> str:
        nonlocal project
        project = open_project(project_dir, profiles_dir, target)
        return f"project {project.name}, target {project.target}, method {project.method}, schema {project.schema}"

    yield _try("profile", profile)
    if project is None:
        return
    if project.method == EMBEDDED:
        yield from _embedded(project)
    yield from _connection(project)


def _versions() -> Check:
    names = ("dbt-trickle", "dbt-core", "dbt-spark", "sqlglot", "pyspark")
    found = [f"python {python_version()}"]
    for name in names:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} –")
    return Check("versions", True, ", ".join(found))


def _embedded(project: Project) -> Iterator[Check]:
    def found_java() -> str:
        found = java.find()
        return f"Java {found.major} ({found.executable})"

    yield _try("java", found_java)
    cache = jars.cache_dir()
    missing = jars.missing(jars.EMBEDDED, cache)
    kept = f"{len(jars.EMBEDDED) - len(missing)} of {len(jars.EMBEDDED)} in {cache}"
    yield Check("jars", True, kept + ("; the others are fetched when Spark starts" if missing else ""))
    yield Check("warehouse", True, str(project.credentials.embedded_home))


def _connection(project: Project) -> Iterator[Check]:
    started = perf_counter()
    try:
        with project.connect() as session:
            spark = session.query("SELECT version() AS v")[0]["v"].split(" ")[0]
            seconds = perf_counter() - started
            yield Check("connection", True, f"Spark {spark}, connected in {seconds:.1f} s")
            yield _try("delta", lambda: _delta(session), "Start Spark with Delta's extension and catalog: see README.")
            catalog = repair.read_catalog(session, project.settings)
            there = f"{len(catalog.stream_tables)} stream tables"
            if not catalog.version:
                there = "not there yet; the first stream table creates it"
            elif catalog.unclosed:
                there += f"; {len(catalog.unclosed)} runs have not closed: the next one settles what they left"
            yield Check(
                "catalog", True, f"{project.settings.catalog_schema} (version {tables.SCHEMA_VERSION}): {there}"
            )
    except TrickleError as problem:
        yield Check("connection", False, f"[{problem.code}] {problem.what}", problem.remedy)


def _delta(session: object) -> str:
    rows = session.query("SET spark.sql.extensions")  # type: ignore[attr-defined]
    extensions = str(rows[0]["value"])
    if "DeltaSparkSessionExtension" not in extensions:
        raise WarehouseError("TRK-304", f"Spark runs without Delta (spark.sql.extensions is {extensions})")
    return extensions


def _try(name: str, probe: Callable[[], str], remedy: str = "") -> Check:
    try:
        return Check(name, True, probe())
    except TrickleError as problem:
        return Check(name, False, f"[{problem.code}] {problem.what}", problem.remedy or remedy)
