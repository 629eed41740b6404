"""The scenes of trap_scenes.yml, and what is seen while stream tables live through them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import turns
import yaml
from engine_world import World

from dbt_trickle.errors import TrickleError
from dbt_trickle.run.request import Request

EVERY_SCENE: dict[str, dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("trap_scenes.yml").read_text(encoding="utf-8")
)
SCENES = dict(turns.mine(EVERY_SCENE.items(), 2))  # the stream tables of one read each other
TRAPS = {name: (scene, spec) for scene, of in SCENES.items() for name, spec in of["traps"].items()}
FEED = "TBLPROPERTIES (delta.enableChangeDataFeed = true)"
Content = Counter[tuple[Any, ...]]


@dataclass(frozen=True)
class Seen:
    """What a refresh said, and what readers have after it."""

    did: str  # its action, or its error's code
    reason: str
    shown: Content
    wanted: Content | None  # none: the query cannot be run


@dataclass(frozen=True)
class Lived:
    """All at once: a run costs seconds beside what its refreshes cost."""

    first: Mapping[str, Seen]
    after: Mapping[str, list[Seen]]  # each change


def live(world: World) -> Lived:
    names = {scene: tables(world, scene) for scene in SCENES}
    requests = {name: request(world, name, names[scene]) for name, (scene, _) in TRAPS.items()}
    told = world.attempt(list(requests.values()))
    first = {name: look(world, requests[name], *answer) for name, answer in zip(requests, told, strict=True)}
    after: dict[str, list[Seen]] = {name: [] for name in requests}
    for step in range(max(len(scene["changes"]) for scene in SCENES.values())):
        moved = {scene: spec["changes"][step] for scene, spec in SCENES.items() if step < len(spec["changes"])}
        for scene, statements in moved.items():
            world.sql(*(text.format(**names[scene]) for text in statements.split(";")))
        due = {
            name: requests[name] for name, (scene, spec) in TRAPS.items() if scene in moved and "refused" not in spec
        }
        for name, answer in zip(due, world.attempt(list(due.values())), strict=True):
            after[name].append(look(world, due[name], *answer))
    return Lived(first, after)


def tables(world: World, scene: str) -> dict[str, str]:
    """By their names in the scene, the tables, which are made, and the stream tables."""
    spec = SCENES[scene]
    for table, told in spec["tables"].items():
        at = f"{world.schema}.{scene}_{table}"
        properties = FEED if spec.get("feed") else ""
        columns = [column.split(" ", 1) for column in told["columns"].split(", ")]
        values = ", ".join(f"CAST({name} AS {kind}) AS {name}" for name, kind in columns)
        rows = f"(VALUES {told['rows']}) AS v({', '.join(name for name, _ in columns)})"
        world.sql(
            # Collations, which Delta does not give to users yet, and reads.
            "SET spark.databricks.delta.schema.typeCheck.enabled = false",
            f"CREATE TABLE {at} USING delta {properties} AS SELECT {values} FROM {rows}",
        )
    public = {name: world.relation(slug(name)).sql for name in spec["traps"]}
    return {**public, **{table: f"{world.schema}.{scene}_{table}" for table in spec["tables"]}}


def slug(name: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in name).lower()


def request(world: World, name: str, names: Mapping[str, str]) -> Request:
    spec = TRAPS[name][1]
    # Recomputed for what the query is, and not for how much of its source has changed.
    auto = {"refresh_mode": "auto", "max_change_ratio": 1.0}
    config = auto if "recomputed" in spec else {"refresh_mode": "differential"}
    if "key" in spec:
        config["primary_key"] = (spec["key"],)
    return world.request(slug(name), spec["sql"].format(**names).strip(), **config)


def look(world: World, request: Request, did: str, reason: str) -> Seen:
    """One question for both; where the query fails, for what is shown."""
    mine = f"SELECT 'shown' AS here, * FROM {request.public.sql}"
    try:
        found = content(world, f"{mine} UNION ALL SELECT 'wanted', * FROM (\n{request.query}\n)")
    except TrickleError:
        shown = content(world, mine)["shown"] if world.kind_of(request.public) else Content()
        return Seen(did, reason, shown, None)
    return Seen(did, reason, found["shown"], found["wanted"])


def content(world: World, query: str) -> dict[str, Content]:
    found = {"shown": Content(), "wanted": Content()}
    for row in world.looking.query(query):
        here, *values = row.values()
        found[here][tuple(map(comparable, values))] += 1
    return found


def comparable(value: Any) -> Any:
    """NaN is itself to Spark, unlike to Python."""
    return "NaN" if isinstance(value, float) and math.isnan(value) else value
