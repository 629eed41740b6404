"""What a profile asks of a Spark that runs already: given to it where that can be done, and refused where not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dbt.adapters.trickle import jars
from dbt_trickle.errors import EnvironmentProblem, WarehouseError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Settings that only count when the JVM starts. A running Spark refuses some of them and takes others without a word.
LAUNCH_ONLY = (
    "spark.master",
    "spark.driver.",
    "spark.executor.",
    "spark.hadoop.",
    "spark.jars",
    "spark.sql.catalogImplementation",
    "spark.sql.extensions",
    "spark.sql.warehouse.dir",
)
EXTENSIONS, CATALOG = "spark.sql.extensions", "spark.sql.catalog.spark_catalog"
DELTA_EXTENSION = "DeltaSparkSessionExtension"
DELTA = {
    EXTENSIONS: f"io.delta.sql.{DELTA_EXTENSION}",
    CATALOG: "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
SPARKS_OWN_CATALOG = (None, "builtin")


def require_launched_with(has: Callable[[str], str | None], asked: Mapping[str, str], remedy: str) -> None:
    # Names only: a setting may be a password.
    _refuse([key for key in asked if key.startswith(LAUNCH_ONLY) and not _same(key, has(key), asked[key])], remedy)


def give(session: SparkSession, asked: Mapping[str, str], remedy: str) -> None:
    """The settings of a session; what it does not take any more must be as asked already."""
    from pyspark.errors import AnalysisException

    refused = []
    for key, value in asked.items():
        if key.startswith(LAUNCH_ONLY) or in_force(session, key) == value:
            continue
        try:
            session.conf.set(key, value)
        except AnalysisException:
            refused.append(key)
    _refuse(refused, remedy)


def require_delta(session: SparkSession) -> None:
    """Without it the first statement would fail in words that name neither Delta nor what to do."""
    require_deltas(
        in_force(session, EXTENSIONS),
        in_force(session, CATALOG),
        "by the program that made the session that this process has, and by the profile, where its "
        "server_side_parameters name these keys. A dbt in a process of its own does it by itself.",
    )


def require_deltas(extensions: str | None, catalog: str | None, by_whom: str) -> None:
    if DELTA_EXTENSION not in (extensions or ""):
        found = f"{EXTENSIONS} is {extensions or 'not set'}"
    # Other catalogs than Delta's know its tables, too (Unity Catalog's does).
    elif catalog in SPARKS_OWN_CATALOG:
        found = f"{CATALOG} is {catalog or 'not set'}"
    else:
        return
    settings = " and ".join(f"{key}={value}" for key, value in DELTA.items())
    raise WarehouseError(
        "TRK-304",
        f"Spark runs without Delta ({found})",
        remedy=f"Spark must be started with {settings}, and with the jars of {jars.DELTA[0]}: {by_whom}",
    )


def in_force(session: SparkSession, key: str) -> str | None:
    from pyspark.errors import PySparkException

    try:
        return session.conf.get(key)
    except PySparkException:  # neither set nor one that has a default
        return None


def _same(key: str, has: str | None, asked: str) -> bool:
    if has is not None and key == "spark.sql.warehouse.dir":
        return _folder(has) == _folder(asked)
    return has == asked


def _folder(location: str) -> Path:
    """Spark makes `file:/absolute/path` of a warehouse's folder."""
    return Path(location.removeprefix("file://").removeprefix("file:")).absolute()


def _refuse(different: list[str], remedy: str) -> None:
    if different:
        raise EnvironmentProblem(
            "TRK-404",
            f"Spark already runs in this process with other settings for {', '.join(sorted(different))}",
            remedy=f"These settings count only when Spark starts: {remedy}",
        )
