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
from dbt.adapters.trickle.user_errors import said_in
from dbt_trickle.catalog import tables
from dbt_trickle.config import ProjectSettings
from dbt_trickle.errors import EnvironmentProblem, TrickleError
from dbt_trickle.run import repair
from dbt_trickle.run.session import Session

EMBEDDED = "session"
OURS = "dbt-trickle"


@dataclass(frozen=True)
class Check:
    name: str
    ok: bool
    found: str
    remedy: str = ""


def examine(
    project_dir: str | None, profiles_dir: str | None, profile: str | None, target: str | None, variables: str = "{}"
) -> Iterator[Check]:
    """Each check as it is made. What cannot be tried any more after a failure is not shown as one."""
    yield _versions()
    project: Project | None = None

    def read_profile() -> str:
        nonlocal project
        project = open_project(project_dir, profiles_dir, profile, target, variables)
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
    told = False
    try:
        with project.connect() as session:
            spark = session.query("SELECT version() AS v")[0]["v"].split(" ")[0]
            yield Check("connection", True, f"Spark {spark}, connected in {perf_counter() - started:.1f} s")
            told = True
            has_delta = _try("delta", lambda: _delta(session))
            yield has_delta
            if has_delta.ok:
                yield _try("catalog", lambda: _catalog(session, project.settings))
    except TrickleError as problem:
        # A server that is away is told of as one that may come back; why it is, is in there.
        problem = said_in(problem.what) or problem
        yield _failed("disconnect" if told else "connection", problem)


def _delta(session: Session) -> str:
    found = {key: str(session.query(f"SET {key}")[0]["value"]) for key in (asked.EXTENSIONS, asked.CATALOG)}
    extensions, catalog = (None if value == "<undefined>" else value for value in found.values())
    asked.require_deltas(extensions, catalog, "for a server, the README's cluster section has them.")
    return f"{extensions}, {catalog}"


def _catalog(session: Session, settings: ProjectSettings) -> str:
    catalog = repair.read_catalog(session, settings)
    if not catalog.version:
        return f"{settings.catalog_schema}: not there yet; the first stream table creates it"
    there = f"{settings.catalog_schema} (version {catalog.version}): {len(catalog.stream_tables)} stream tables"
    if catalog.version < tables.SCHEMA_VERSION:
        there += f"; the next run brings it to version {tables.SCHEMA_VERSION}"
    if catalog.unclosed:
        there += f"; {len(catalog.unclosed)} runs have not closed: the next one settles what they left"
    return there


def _try(name: str, probe: Callable[[], str]) -> Check:
    try:
        return Check(name, True, probe())
    except TrickleError as problem:
        return _failed(name, problem)


def _failed(name: str, problem: TrickleError) -> Check:
    return Check(name, False, f"[{problem.code}] {problem.what}", problem.remedy or "docs/errors.md says what to do.")
