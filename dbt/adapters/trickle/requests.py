"""From dbt's nodes to the engine's requests."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

from dbt_trickle import config as configuration
from dbt_trickle import names
from dbt_trickle.errors import ConfigError
from dbt_trickle.names import Relation
from dbt_trickle.plan.steps import Constraint, Docs
from dbt_trickle.run.request import Request

Node = Mapping[str, Any]
_VARIABLES = re.compile(r"\b(declare|set\s+var(iable)?)\b", re.IGNORECASE)
_VIEW_TEXT = re.compile(r"^View Text: (.*?)^View ", re.DOTALL | re.MULTILINE)


def public_relation(node: Node) -> Relation:
    return Relation.of(str(node["schema"]), str(node.get("alias") or node.get("identifier") or node["name"]))


def number_of(node: Node) -> int:
    return names.pgt_id(str(node["unique_id"]), public_relation(node))


def selected(graph: Mapping[str, Any], unique_ids: Iterable[str]) -> list[Node]:
    """The stream tables among what dbt was asked to run."""
    nodes = graph.get("nodes", {})
    return [
        nodes[unique_id]
        for unique_id in unique_ids
        if unique_id in nodes and nodes[unique_id]["config"].get("materialized") == "stream_table"
    ]


def schedule(node: Node) -> str | None:
    return _alone(node, "schedule").schedule


def diamond_schedule_policy(node: Node) -> str:
    return _alone(node, "diamond_schedule_policy").diamond_schedule_policy


def _alone(node: Node, key: str) -> configuration.StreamTableConfig:
    """One key of the configuration. A wrong value is told when the model is refreshed."""
    try:
        return configuration.parse("", {key: node["config"].get(key)})
    except ConfigError:
        return configuration.StreamTableConfig()


def stream_tables_read(graph: Mapping[str, Any], node: Node) -> frozenset[str]:
    """Their unique ids, also behind views and other models."""
    nodes = graph.get("nodes", {})
    found: set[str] = set()
    ahead, seen = list((node.get("depends_on") or {}).get("nodes") or ()), set[str]()
    while ahead:
        unique_id = ahead.pop()
        if unique_id in seen or unique_id not in nodes:
            continue
        seen.add(unique_id)
        if nodes[unique_id]["config"].get("materialized") == "stream_table":
            found.add(unique_id)
        else:
            ahead += (nodes[unique_id].get("depends_on") or {}).get("nodes") or ()
    return frozenset(found)


def request(
    node: Node,
    compiled: str,
    graph: Mapping[str, Any],
    *,
    existing: str | None,
    shown: str | None,
    sampled: bool,
    full_refresh: bool,
    project: str,
    dbt_target: str,
    settings: configuration.ProjectSettings,
) -> Request:
    public = public_relation(node)
    names.check_public_name(public, str(public))
    config = configuration.parse(str(public), _given(node))
    configuration.check_schedule(config, settings, str(public))
    return Request(
        pgt_id=number_of(node),
        unique_id=str(node["unique_id"]),
        public=public,
        query=compiled,
        original=str(node.get("raw_code") or ""),
        config=config,
        relations=_resolved(node, graph),
        sources=_sources(node, graph),
        existing=existing,
        shown=shown,
        hooked=bool(_pre_hooks(node)),
        variables=any(_VARIABLES.search(hook) for hook in _pre_hooks(node)),
        sampled=sampled,
        full_refresh=full_refresh,
        docs=_docs(node),
        constraints=_constraints(node),
        project=project,
        dbt_target=dbt_target,
    )


def view_text(relation: Any) -> str | None:
    """What dbt-spark's cache knows of a relation, as SHOW TABLE EXTENDED told it, has a view's text in it."""
    found = _VIEW_TEXT.search(str(getattr(relation, "information", None) or ""))
    return found.group(1) if found else None


def _pre_hooks(node: Node) -> list[str]:
    hooks = node["config"].get("pre-hook") or node["config"].get("pre_hook") or []
    return [str(hook.get("sql") if isinstance(hook, Mapping) else hook) for hook in hooks]


def _given(node: Node) -> dict[str, Any]:
    return dict(node["config"])


def _resolved(node: Node, graph: Mapping[str, Any]) -> dict[Relation, str]:
    """Every name that a ref or source of this model may have been rendered to."""
    found: dict[Relation, str] = {}
    for unique_id in node.get("depends_on", {}).get("nodes", ()):
        other = graph.get("nodes", {}).get(unique_id) or graph.get("sources", {}).get(unique_id)
        if other is not None:
            found |= dict.fromkeys(_rendered(other), unique_id)
    return found


def _rendered(other: Node) -> list[Relation]:
    """What a ref or source may have become in the text: with --defer, what another target has of it."""
    deferred = other.get("defer_relation")
    return [public_relation(other)] + ([public_relation({"name": "", **deferred})] if deferred else [])


def _sources(node: Node, graph: Mapping[str, Any]) -> dict[str, configuration.SourceSettings]:
    """What is said of the sources themselves; of those below views and ephemeral models as well."""
    found: dict[str, configuration.SourceSettings] = {}
    waiting, seen = list(node.get("depends_on", {}).get("nodes", ())), set()
    while waiting:
        unique_id = waiting.pop()
        other = graph.get("nodes", {}).get(unique_id) or graph.get("sources", {}).get(unique_id)
        if other is None or unique_id in seen:
            continue
        seen.add(unique_id)
        config = other.get("config") or {}
        given = {**(other.get("meta") or {}), **(config.get("meta") or {})}.get("trickle")
        if given is not None:
            for relation in _rendered(other):
                found[relation.key] = configuration.source_settings(str(relation), given)
        if config.get("materialized") in ("view", "ephemeral"):
            waiting += other.get("depends_on", {}).get("nodes", ())
    return found


def _docs(node: Node) -> Docs:
    wanted = node["config"].get("persist_docs") or {}
    columns = node.get("columns") or {}
    return Docs(
        relation=str(node.get("description") or "") if wanted.get("relation") else None,
        columns=tuple((str(c["name"]), str(c["description"])) for c in columns.values() if c.get("description"))
        if wanted.get("columns")
        else (),
    )


def _constraints(node: Node) -> tuple[Constraint, ...]:
    """What an enforced contract asks of the rows and Delta can check; keys are information only."""
    if not (node["config"].get("contract") or {}).get("enforced"):
        return ()
    found = []
    for given in node.get("constraints") or ():
        if given["type"] == "check":
            found.append(_named(given.get("name"), str(given["expression"])))
    for column in (node.get("columns") or {}).values():
        for given in column.get("constraints") or ():
            if given["type"] == "not_null":
                found.append(_named(given.get("name"), f"{names.quote(str(column['name']))} IS NOT NULL"))
            elif given["type"] == "check":
                found.append(_named(given.get("name"), str(given["expression"])))
    return tuple(found)


def _named(name: str | None, expression: str) -> Constraint:
    digest = hashlib.sha256(expression.encode()).hexdigest()[:12]
    return Constraint(name or f"trickle_{digest}", expression)
