"""The adapter: dbt-spark's, with Delta by default and the doors to the engine."""

from __future__ import annotations

from typing import Any

from dbt.adapters.spark.impl import SparkAdapter

from dbt.adapters.trickle.connections import TrickleConnectionManager


class TrickleAdapter(SparkAdapter):
    ConnectionManager = TrickleConnectionManager

    def pre_model_hook(self, config: Any) -> Any:
        """Delta is the default format of every model, seed and snapshot.

        dbt-spark's macros ask config.get('file_format') and take parquet when it is not there; parquet
        tables are dropped and re-created on each run and keep no history, so nothing could be maintained.
        """
        node_config = getattr(config.model, "config", None)
        if node_config is not None and node_config.get("file_format") is None:
            node_config._extra["file_format"] = "delta"
        return super().pre_model_hook(config)
