"""A source whose log a test can reach, stream tables on it, and how these are captured from run to run."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from engine_world import World

from dbt_trickle.catalog import store
from dbt_trickle.names import Relation
from dbt_trickle.run.request import Request
from dbt_trickle.run.session import Session

FEED = "TBLPROPERTIES (delta.enableChangeDataFeed = true)"
TOTALS = "SELECT region, sum(amount) AS total, count(*) AS n FROM {} GROUP BY region"
BIG = "SELECT id, amount FROM {} WHERE amount > 5"


@dataclass
class Shop:
    """One source, and stream tables on it."""

    world: World
    name: str
    requests: tuple[Request, ...] = ()
    rows: int = 0

    @classmethod
    def of(cls, world: World, name: str, properties: str = FEED, folder: Path | None = None) -> Shop:
        shop = cls(world, name)
        location = f"LOCATION '{folder}' " if folder is not None else ""
        world.sql(f"CREATE TABLE {shop.source} (id INT, region STRING, amount INT) USING delta {location}{properties}")
        shop.insert()
        return shop

    @property
    def source(self) -> str:
        return f"{self.world.schema}.{self.name}"

    def with_tables(self, *queries: str, **config: Any) -> Shop:
        config = {"refresh_mode": "differential", **config}
        made = [
            self.world.request(f"{self.name}_{n}", query.format(self.source), **config)
            for n, query in enumerate(queries, len(self.requests))
        ]
        self.requests = (*self.requests, *made)
        return self

    def insert(self) -> None:
        self.rows += 1
        values = f"({self.rows}, 'north', {self.rows}), ({self.rows}, 'south', {self.rows + 5})"
        self.world.sql(f"INSERT INTO {self.source} (id, region, amount) VALUES {values}")

    def run(self, session: Session | None = None, **settings: Any) -> list[str]:
        """One dbt run; what it did, when all of it is seen to be right."""
        world = replace(self.world, settings=replace(self.world.settings, **settings))
        outcomes = world.run(*self.requests, session=session)
        for request in self.requests:
            shown = world.rows(f"SELECT * FROM {request.public.sql}")
            assert shown == world.rows(request.query), outcomes
        return [outcome.refresh.action for outcome in outcomes]

    def states(self) -> list[tuple[str, str]]:
        """Of each stream table, how the source is captured and why."""
        rows = self.world.looking.query(store.read_query(self.world.settings.catalog_schema))
        found = store.parse(rows).dependencies
        return [(row.cdc_mode, row.cdc_reason) for r in self.requests for row in found.get(r.pgt_id, ())]

    def modes(self) -> list[str]:
        return [mode for mode, _ in self.states()]

    def events(self) -> list[tuple[str, str]]:
        table = Relation.of(self.world.settings.catalog_schema, "pgt_events").sql
        numbers = ", ".join(str(r.pgt_id) for r in self.requests)
        rows = self.world.looking.query(
            f"SELECT event, get_json_object(payload, '$.reason') AS reason FROM {table} "
            f"WHERE pgt_id IN ({numbers}) AND event LIKE 'cdc%' ORDER BY at, event"
        )
        return [(row["event"].removeprefix("cdc_transition_"), row["reason"]) for row in rows]

    def tracked(self) -> list[tuple[Any, ...]]:
        table = Relation.of(self.world.settings.catalog_schema, "pgt_change_tracking").sql
        rows = self.world.looking.query(
            f"SELECT cdc_mode, last_consumed_version, tracked_by_pgt_ids FROM {table} WHERE source = '{self.source}'"
        )
        return [tuple(row.values()) for row in rows]

    def transitioning(self) -> Shop:
        self.run()
        assert set(self.modes()) == {"TRIGGER"}
        self.insert()
        assert set(self.run()) == {"DIFFERENTIAL"}
        assert set(self.modes()) == {"TRANSITIONING"}
        return self


def log_of(folder: Path, version: int) -> Path:
    return folder / "_delta_log" / f"{version:020d}.json"


def actions(folder: Path, version: int, kind: str) -> list[dict[str, Any]]:
    """What a commit says of its files."""
    told = map(json.loads, log_of(folder, version).read_text().splitlines())
    return [action[kind] for action in told if kind in action]


def remove(path: Path) -> None:
    path.unlink()
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
