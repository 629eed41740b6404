"""dbt's profile, project and connection for the `trickle` command: read exactly as dbt reads them."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from graphlib import TopologicalSorter
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from dbt_common.context import set_invocation_context
from dbt_common.events.base_types import EventLevel
from dbt_common.exceptions import DbtBaseException

from dbt.adapters.trickle.user_errors import ours, user_errors
from dbt_trickle.config import ProjectSettings
from dbt_trickle.errors import CommandError, EnvironmentProblem
from dbt_trickle.names import Relation
from dbt_trickle.run.orphans import Scope
from dbt_trickle.run.request import Request, dbt_target
from dbt_trickle.run.session import Session


@dataclass(frozen=True)
class Model:
    """A stream table of the project, as this target names it."""

    unique_id: str
    public: Relation
    expose: str
    status: str | None
    selector: str  # how dbt selects this one and no other
    reads: frozenset[str] = frozenset()  # the stream tables that it reads, by itself or through views


@dataclass(frozen=True)
class Result:
    """What dbt's run did with one model."""

    name: str
    ok: bool
    status: str
    action: str | None
    reason: str
    rows_inserted: int | None
    rows_deleted: int | None
    seconds: float


@dataclass(frozen=True)
class Project:
    """A dbt project with a target chosen; nothing is connected yet."""

    name: str
    target: str
    method: str
    schema: str
    settings: ProjectSettings
    _config: Any
    _adapter: Any
    _variables: str

    @property
    def credentials(self) -> Any:
        return self._config.credentials

    @property
    def dbt_target(self) -> str:
        """As the adapter records it with each stream table."""
        return dbt_target(self.target, self.schema)

    @contextmanager
    def connect(self) -> Iterator[Session]:
        from dbt.adapters.trickle.engine_session import AdapterSession

        with user_errors(), self._adapter.connection_named("trickle"):
            try:
                yield AdapterSession(self._adapter)
            finally:
                self._adapter.cleanup_connections()

    def models(self) -> list[Model]:
        """The project's stream tables, from dbt's own parser."""
        return _models(self._parse())

    def scope(self) -> Scope:
        """All that the project builds in this target, by which `trickle repair` tells what it does not any more."""
        manifest = self._parse()
        models = [node for node in manifest.nodes.values() if node.resource_type == "model"]
        ours = {node.unique_id: node for node in models if _is_stream_table(node)}
        return Scope(
            self.name,
            self.dbt_target,
            frozenset({self.schema, *(str(node.schema) for node in models)}),
            {unique_id: _public(node) for unique_id, node in ours.items()},
            tuple(_public(node) for node in ours.values() if node.config.get("expose") == "table"),
            {
                node.unique_id: None if node.config.materialized == "ephemeral" else _public(node)
                for node in models
                if node.unique_id not in ours
            },
        )

    def request(self, model: Model) -> Request:
        """What dbt would ask of the engine for it now."""
        return self._requests(self._parse(), [model])[0]

    def requests(self, select: Sequence[str], exclude: Sequence[str]) -> list[tuple[Model, Request]]:
        """The same for the stream tables of a selection, each after those that it reads."""
        manifest = self._parse()
        chosen = set(self._selected(manifest, select, exclude))
        models = [model for model in in_order(_models(manifest)) if model.unique_id in chosen]
        return list(zip(models, self._requests(manifest, models), strict=True)) if models else []

    def _selected(self, manifest: Any, select: Sequence[str], exclude: Sequence[str]) -> list[str]:
        flags = [flag for each in select for flag in ("--select", each)]
        flags += [flag for each in exclude for flag in ("--exclude", each)]
        asked = ["list", "--resource-type", "model", "--output", "json", "--output-keys", "unique_id", *flags]
        answer = self._dbt("--log-level", "none", "--quiet", *asked, manifest=manifest)
        if not answer.success:
            raise ours(answer.exception) or EnvironmentProblem(
                "TRK-410", f"dbt cannot select {' '.join(select)}: {answer.exception}", remedy="See `dbt list`."
            )
        return [json.loads(each)["unique_id"] for each in answer.result]

    def _requests(self, manifest: Any, models: Sequence[Model]) -> list[Request]:
        from dbt.adapters.factory import FACTORY
        from dbt.context.providers import generate_runtime_macro_context

        selectors = [model.selector for model in models]
        answer = self._dbt("--log-level", "none", "--quiet", "compile", "--select", *selectors, manifest=manifest)
        if not answer.success:
            told = answer.exception or "; ".join(str(r.message) for r in answer.result if r.message)
            which = ", ".join(str(model.public) for model in models)
            raise ours(told) or EnvironmentProblem(
                "TRK-410", f"dbt cannot compile {which}: {told}", remedy="See `dbt compile`."
            )
        manifest.build_flat_graph()
        # dbt's own commands do this; to look for a relation is a macro already, which asks for the adapter by its type.
        FACTORY.adapters[self._adapter.type()] = self._adapter
        self._adapter.set_macro_resolver(manifest)
        self._adapter.set_macro_context_generator(generate_runtime_macro_context)
        return [self._request(manifest.flat_graph, model) for model in models]

    def _request(self, graph: Any, model: Model) -> Request:
        from dbt.adapters.trickle import requests

        node = graph["nodes"][model.unique_id]
        with user_errors(), self._adapter.connection_named("trickle"):
            existing = self._adapter.get_relation(None, model.public.schema, model.public.identifier)
            query = self._query(node)
        return requests.request(
            node,
            query,
            graph,
            existing=str(existing.type) if existing is not None else None,
            shown=requests.view_text(existing),
            sampled=False,
            full_refresh=bool(node["config"].get("full_refresh")),
            project=self.name,
            dbt_target=self.dbt_target,
            settings=self.settings,
        )

    def _query(self, node: Any) -> str:
        """As the materialization makes it: with a contract, inside of the contract's columns."""
        compiled = str(node["compiled_code"])
        if not (node["config"].get("contract") or {}).get("enforced"):
            return compiled
        own, sql = {"model": node}, {"sql": compiled}
        return str(self._adapter.execute_macro("get_select_subquery", context_override=own, kwargs=sql))

    def run(self, models: Sequence[Model], full_refresh: bool) -> list[Result]:
        """dbt's own run of these stream tables, silent on the console (its log file has all of it)."""
        flags = ["--full-refresh"] if full_refresh else []
        with _initiated_by("MANUAL"):
            answer = self._dbt("--log-level", "none", "run", "--select", *(m.selector for m in models), *flags)
        if answer.exception is not None:
            raise ours(answer.exception) or EnvironmentProblem(
                "TRK-412", f"dbt could not run: {answer.exception}", remedy="See `dbt run`."
            )
        return [_told(result) for result in answer.result]

    def _parse(self) -> Any:
        answer = self._dbt("--log-level", "none", "--quiet", "parse")
        if not answer.success:
            raise ours(answer.exception) or EnvironmentProblem(
                "TRK-410", f"dbt cannot parse the project: {answer.exception}", remedy="See `dbt parse`."
            )
        return answer.result

    def _dbt(self, *args: str, manifest: Any = None) -> Any:
        from dbt.cli.main import dbtRunner

        where = ["--project-dir", self._config.project_root, "--target", self.target]
        if self._config.args.profiles_dir:
            where += ["--profiles-dir", self._config.args.profiles_dir]
        if self._config.args.profile:
            where += ["--profile", self._config.args.profile]
        where += ["--vars", self._variables]
        return dbtRunner(manifest=manifest).invoke([*args, *where])


@contextmanager
def _initiated_by(who: str) -> Iterator[None]:
    """dbt makes its adapters itself."""
    from dbt.adapters.trickle.impl import TrickleAdapter

    before, TrickleAdapter.initiated_by = TrickleAdapter.initiated_by, who
    try:
        yield
    finally:
        TrickleAdapter.initiated_by = before


def _models(manifest: Any) -> list[Model]:
    from dbt.adapters.trickle import requests

    # Of dbt's flat graph, which is a copy of the whole manifest, no more than is asked for.
    nodes = {
        unique_id: {
            "config": {"materialized": node.config.materialized},
            "depends_on": {"nodes": getattr(node.depends_on, "nodes", ())},
        }
        for unique_id, node in manifest.nodes.items()
    }
    return [
        Model(
            node.unique_id,
            _public(node),
            str(node.config.get("expose") or "view"),
            node.config.get("status"),
            f"fqn:{'.'.join(node.fqn)}",
            requests.stream_tables_read({"nodes": nodes}, nodes[node.unique_id]),
        )
        for node in manifest.nodes.values()
        if _is_stream_table(node)
    ]


def in_order(models: Sequence[Model]) -> list[Model]:
    """Each after those that it reads; dbt allows no circles."""
    by_id = {model.unique_id: model for model in models}
    return [by_id[unique_id] for unique_id in TopologicalSorter({m.unique_id: m.reads for m in models}).static_order()]


def _public(node: Any) -> Relation:
    return Relation.of(str(node.schema), str(node.alias))


def _is_stream_table(node: Any) -> bool:
    return bool(node.resource_type == "model" and node.config.materialized == "stream_table")


def _told(result: Any) -> Result:
    answer = result.adapter_response or {}
    ok = str(result.status) == "success"
    return Result(
        str(Relation.of(result.node.schema, result.node.alias)),
        ok,
        str(result.status),
        answer.get("action"),
        str(answer.get("reason") or result.message or "") if ok else str(result.message or ""),
        answer.get("rows_inserted"),
        answer.get("rows_deleted"),
        float(result.execution_time),
    )


def open_project(
    project_dir: str | None,
    profiles_dir: str | None,
    profile: str | None,
    target: str | None,
    variables: str = "{}",
    *,
    writes: bool = False,
) -> Project:
    """`writes`: who cannot write the embedded warehouse now is to be told before a Spark is started for it."""
    from dbt.adapters.factory import get_adapter, register_adapter
    from dbt.cli.resolvers import default_profiles_dir, default_project_dir
    from dbt.config.runtime import RuntimeConfig
    from dbt.flags import set_from_args

    args = Namespace(
        project_dir=str(project_dir or default_project_dir()),
        profiles_dir=str(profiles_dir or default_profiles_dir()),
        target=target,
        profile=profile,
        threads=1,
        vars=_mapping(variables),
        WHICH="trickle",
        which="trickle",
    )
    if not (Path(args.project_dir) / "dbt_project.yml").is_file():
        raise EnvironmentProblem(
            "TRK-409",
            f"no dbt_project.yml in {args.project_dir}",
            remedy="Call trickle inside a dbt project, or name it with --project-dir.",
        )
    set_invocation_context(os.environ)  # where env_var() of the profile looks; dbt's own commands begin with it
    with user_errors():
        set_from_args(args, None)
        config = RuntimeConfig.from_args(args)
        if config.credentials.type != "trickle":
            raise EnvironmentProblem(
                "TRK-409",
                f"the target `{config.target_name}` of profile `{config.profile_name}` is of type "
                f"`{config.credentials.type}`",
                remedy="Set `type: trickle` in profiles.yml.",
            )
        register_adapter(config, get_context("spawn"), EventLevel.DEBUG)
        adapter: Any = get_adapter(config)
    config.credentials.is_to_write = writes
    return Project(
        config.project_name,
        config.target_name,
        str(config.credentials.method),
        config.credentials.schema,
        adapter.trickle_settings(),
        config,
        adapter,
        variables,
    )


def _mapping(variables: str) -> dict[str, Any]:
    from dbt.clients.yaml_helper import load_yaml_text

    remedy = "Write a mapping in YAML or JSON, as for dbt: --vars 'name: value' or --vars '{\"name\": \"value\"}'."
    try:
        found = load_yaml_text(variables)
    except DbtBaseException as problem:
        raise CommandError("TRK-504", f"`--vars` cannot be read: {problem.msg}", remedy=remedy) from problem
    if not isinstance(found, dict):
        raise CommandError("TRK-504", f"`--vars` is no mapping but {variables!r}", remedy=remedy)
    return found


def python_version() -> str:
    return ".".join(map(str, sys.version_info[:3]))
