"""What a project needs in order to run, looked at one thing after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from time import perf_counter

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from dbt.adapters.trickle import asked, embedded, jars, java
from dbt.adapters.trickle.bridge import Project, open_project, python_version
from dbt_trickle.catalog import tables
from dbt_trickle.errors import EnvironmentProblem, TrickleError, WarehouseError
from dbt_trickle.run import repair

EMBEDDED = "session"
OURS = "dbt-trickle"


@dataclass(frozen=True)
class Check:
    name: str
    ok: bool
    found: str
    remedy: str = ""


def examine(
    project_dir: str | None, profiles_dir: str | None, profile: str | None, target: str | None
) -> Iterator[Check]:
    """Each check as it is made. What cannot be tried any more after a failure is not shown as one."""
    yield _versions()
    project: Project | None = None

    def read_profile() -> str:
        nonlocal project
        project = open_project(project_dir, profiles_dir, profile, target)
        return f"project {project.name}, target {project.target}, method {project.method}, schema {project.schema}"

    yield _try("profile", read_profile)
    if project is None:
        return
    ready = True
    if project.method == EMBEDDED:
        for check in _embedded(project):
            ready = ready and check.ok
            yield check
    if ready:
        yield from _connection(project)


def _versions() -> Check:
    """All that an installer should have seen to, and that a later `pip install` of something else may have undone.

    pyspark is shown and not judged: over a server none is needed, and none is used.
    """
    allowed = _allowed()
    found, wrong = [f"python {python_version()}"], []
    for name in (OURS, "dbt-core", "dbt-spark", "sqlglot", "pyspark"):
        has = _installed(name)
        found.append(f"{name} {has or '–'}")
        if has and name != "pyspark" and name in allowed and not allowed[name].contains(has, prereleases=True):
            wrong.append(f"{name}{allowed[name]}")
    remedy = f"pip install {' '.join(repr(each) for each in wrong)}" if wrong else ""
    return Check("versions", not wrong, ", ".join(found), remedy)


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _allowed() -> dict[str, SpecifierSet]:
    """Which versions of what this package has been declared to work with, extras included."""
    try:
        declared = [Requirement(line) for line in requires(OURS) or []]
    except PackageNotFoundError:
        return {}
    return {each.name: each.specifier for each in declared}


def _embedded(project: Project) -> Iterator[Check]:
    """What the start of Spark goes through, one by one: there a failure of any of them is a start that failed."""
    yield _try("pyspark", _pyspark)

    def warehouse() -> str:
        home = project.credentials.embedded_home
        embedded.require_writable(home)
        return str(home)

    yield _try("warehouse", warehouse)

    def found_java() -> str:
        found = java.find()
        return f"Java {found.major} ({found.executable})"

    has_java = _try("java", found_java)
    yield has_java
    if has_java.ok and _installed("pyspark"):
        # Spark's start would fetch what is missing, a moment later and with less to say about it.
        yield _try("jars", lambda: f"{len(embedded.ensure_jars(project.credentials))} in {jars.cache_dir()}")


def _pyspark() -> str:
    embedded.require_pyspark()
    has, allowed = version("pyspark"), _allowed().get("pyspark", SpecifierSet())
    if not allowed.contains(has, prereleases=True):
        raise EnvironmentProblem(
            "TRK-405",
            f"pyspark is {has}, and Delta's jars need {allowed}",
            remedy="pip install 'dbt-trickle[embedded]'",
        )
    return has


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
    if asked.DELTA_EXTENSION not in extensions:
        raise WarehouseError("TRK-304", f"Spark runs without Delta (spark.sql.extensions is {extensions})")
    return extensions


def _try(name: str, probe: Callable[[], str], remedy: str = "") -> Check:
    try:
        return Check(name, True, probe())
    except TrickleError as problem:
        return Check(name, False, f"[{problem.code}] {problem.what}", problem.remedy or remedy)
