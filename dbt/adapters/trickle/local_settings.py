"""Settings of the embedded Spark: for one machine, its tables and metastore kept under one folder."""

from __future__ import annotations

import os
from pathlib import Path

from dbt.adapters.trickle import asked


def defaults(home: Path, paths: list[Path]) -> dict[str, str]:
    cores = os.cpu_count() or 2
    log_settings = Path(__file__).with_name("launch_log.properties")
    options = [f"-Dlog4j2.configurationFile={log_settings.as_uri()}", "-Dh2.bindAddress=127.0.0.1"]
    return {
        "spark.master": "local[*]",
        "spark.app.name": "dbt-trickle",
        # Nothing listens outside this machine.
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Nor is there anybody to look at what was: Spark keeps a thousand plans for its UI, and sorts them
        # whenever another one has run.
        "spark.sql.ui.retainedExecutions": "1",
        "spark.ui.retainedJobs": "1",
        "spark.ui.retainedStages": "1",
        "spark.ui.retainedTasks": "1",
        "spark.driver.memory": f"{_memory_mb()}m",
        "spark.driver.extraClassPath": os.pathsep.join(map(str, paths)),
        "spark.driver.extraJavaOptions": " ".join(options),
        **asked.DELTA,
        "spark.sql.sources.default": "delta",
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.local.dir": str(home / "tmp"),
        # A laptop's tables fit few partitions; 200 tasks per shuffle cost more than the work itself.
        "spark.sql.shuffle.partitions": str(max(2, cores)),
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.session.timeZone": "UTC",
    }


def metastore(home: Path) -> dict[str, str]:
    """A Hive metastore in H2, which lets a second process in while the first one is working.

    AUTO_SERVER: whoever opens the file first serves it on loopback; when it goes, the next takes over.
    """
    prefix = "spark.hadoop."
    return {
        "spark.sql.catalogImplementation": "hive",
        prefix + "javax.jdo.option.ConnectionURL": f"jdbc:h2:file:{home / 'metastore'};AUTO_SERVER=TRUE",
        prefix + "javax.jdo.option.ConnectionDriverName": "org.h2.Driver",
        prefix + "javax.jdo.option.ConnectionUserName": "sa",
        prefix + "javax.jdo.option.ConnectionPassword": "",
        prefix + "datanucleus.schema.autoCreateAll": "true",
        # Without it DataNucleus takes H2's own INFORMATION_SCHEMA.ROLES for Hive's table ROLES.
        prefix + "datanucleus.mapping.Schema": "PUBLIC",
        prefix + "hive.metastore.schema.verification": "false",
        # What the metastore refuses it asks itself ten times, two seconds apart: a comment of more than 256 characters
        # on a view's column, which Spark then keeps in another place, cost each such view twenty seconds.
        prefix + "hive.hmshandler.retry.interval": "200ms",
    }


def _memory_mb() -> int:
    """A quarter of the machine, 1 to 16 GiB: dbt, the page cache and a second process want some, too."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    return max(1024, min(total // 4, 16 * 1024))
