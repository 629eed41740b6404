"""Spark for tests: thousands of statements over a dozen rows each, on two cores."""

from __future__ import annotations

SETTINGS = {
    # To compile such a statement costs more than to interpret it.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    # VACUUM lists files in so many tasks: 10 000 of them take a minute.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.databricks.delta.writeChecksumFile.enabled": "false",
}
# Hadoop calls chmod for each file that it creates, and what starts a process by default starts two.
_ALWAYS = "-XX:+UseSerialGC -Djdk.lang.Process.launchMechanism=VFORK"
JAVA = {"JDK_JAVA_OPTIONS": _ALWAYS}
# For a Spark that a test starts for a statement or two: what the second compiler wins would come too late. Without it
# Java reserves 48 MB for code, and Spark needs more.
SHORT_LIVED_JAVA = {"JDK_JAVA_OPTIONS": f"{_ALWAYS} -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"}
