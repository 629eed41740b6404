"""The adapter: dbt-spark's, with Delta by default and the doors to the engine."""

from __future__ import annotations

import sys
import threading
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from dbt.adapters.base import available
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark.connections import SparkConnectionMethod
from dbt.adapters.spark.impl import SparkAdapter
from dbt_common.exceptions import DbtRuntimeError
from dbt_common.invocation import get_invocation_id

from dbt.adapters.trickle import described, requests, secrets
from dbt.adapters.trickle.connections import TrickleConnectionManager
from dbt.adapters.trickle.engine_session import AdapterSession
from dbt.adapters.trickle.response import response_of
from dbt_trickle import config as configuration
from dbt_trickle import names
from dbt_trickle.catalog.events import Event
from dbt_trickle.errors import CommandError, ModelError, TrickleBug, TrickleError
from dbt_trickle.names import Relation
from dbt_trickle.run import health, leave, verify
from dbt_trickle.run.announced import Planned
from dbt_trickle.run.clock import now
from dbt_trickle.run.frozen import Frozen
from dbt_trickle.run.invocation import Invocation
from dbt_trickle.run.refresh import fail, refresh
from dbt_trickle.run.request import dbt_target, is_named

logger = AdapterLogger("Trickle")


def _tell(event: Event) -> None:
    (logger.debug if event.is_routine else logger.warning)(str(event))


NO_RELATION = ("test", "unit", "ephemeral")
BEFORE_ITS_REFRESH = (
    "It was not touched. Look at the model's pre-hooks and its contract; logs/dbt.log has each statement."
)
A_BUG = (
    "Please report it, with the stack trace in logs/dbt.log. A commit is whole or not there: `trickle verify` compares "
    "what readers get."
)


class TrickleAdapter(SparkAdapter):
    ConnectionManager = TrickleConnectionManager
    initiated_by = "DBT"  # by the user's own run, unless a command says that it is somebody else's

    def __init__(self, config: Any, mp_context: Any) -> None:
        super().__init__(config, mp_context)
        self._invocation: Invocation | None = None
        self._begun: set[int] = set()  # stream tables whose refresh the engine was asked for in this invocation
        self._guard = threading.Lock()
        self._cancelled = threading.Event()

    # --- the materialization's calls --------------------------------------------------------

    @available.parse(lambda *_, **__: None)
    def announce_stream_tables(self, model: Mapping[str, Any], graph: Mapping[str, Any], selected: list[str]) -> None:
        """Before anything of a model runs: from here on, whatever goes wrong is in its history."""
        session = AdapterSession(self)
        try:
            run = self._run()
            if run.is_open:
                return  # with the whole selection
            planned = requests.selected(graph, selected) or [model]
            run.open(
                session,
                [
                    Planned(
                        requests.number_of(node),
                        str(uuid.uuid4()),
                        requests.public_relation(node),
                        str(node["unique_id"]),
                        self.config.project_name,
                        self._dbt_target,
                        requests.schedule(node),
                        requests.stream_tables_read(graph, node),
                        is_named(str(node["unique_id"]), getattr(self.config.args, "select", None) or ()),
                        requests.diamond_schedule_policy(node),
                    )
                    for node in planned
                ],
            )
        except TrickleError as problem:
            raise DbtRuntimeError(str(problem)) from problem

    @available.parse(lambda *_, **__: {"response": None, "type": "view", "columns": [], "statements": ""})
    def refresh_stream_table(
        self,
        model: Mapping[str, Any],
        compiled: str,
        graph: Mapping[str, Any],
        full_refresh: bool,
    ) -> dict[str, Any]:
        session, run = AdapterSession(self), self._run()
        self._begun.add(requests.number_of(model))
        public = requests.public_relation(model)
        existing = self.get_relation(None, public.schema, public.identifier)  # type: ignore[arg-type]
        try:
            asked = requests.request(
                model,
                compiled,
                graph,
                existing=str(existing.type) if existing is not None else None,
                shown=requests.view_text(existing),
                sampled=self._is_sampled(),
                full_refresh=full_refresh,
                project=self.config.project_name,
                dbt_target=self._dbt_target,
                settings=run.settings,
            )
        except TrickleError as problem:
            fail(run, requests.number_of(model), problem)
            raise DbtRuntimeError(str(problem)) from problem
        try:
            outcome = refresh(asked, session, run)
        except TrickleError as problem:
            raise DbtRuntimeError(str(problem)) from problem
        for warning in outcome.warnings:
            logger.warning(warning)
        kind = asked.config.expose
        if existing is not None and str(existing.type) != kind:
            self.cache_dropped(existing)
        return {
            "response": response_of(outcome),
            "type": kind,
            "columns": [column.name for column in outcome.state.columns] if outcome.state is not None else [],
            "statements": ";\n\n".join(outcome.statements),
        }

    @available.parse(lambda *_, **__: "")
    def stream_table_differences(self, relation: Any) -> str:
        """The SQL of the rows in which a stream table is not its query at its frontier."""
        if not hasattr(relation, "identifier"):
            raise DbtRuntimeError("stream_table_consistent compares whole stream tables: leave `where` out")
        session, public = AdapterSession(self), Relation.of(str(relation.schema), str(relation.identifier))
        try:
            run = self._run()
            run.load(session)
            table = run.stream_table_at(public)
            if table is None:
                raise CommandError("TRK-502", f"no stream table is called {public}", remedy="`dbt run` creates it.")
            return verify.differing_rows(session, Frozen(session), table)
        except TrickleError as problem:
            raise DbtRuntimeError(str(problem.about(str(public)))) from problem

    @available.parse(lambda *_, **__: "")
    def stream_table_problems(self, relation: Any, warn_after: Any = None, error_after: Any = None) -> str:
        """The SQL of one row for each thing that is wrong with a stream table, with its level: 1 warns, 2 fails."""
        session, public = AdapterSession(self), Relation.of(str(relation.schema), str(relation.identifier))
        try:
            run = self._run()
            run.load(session)
            return health.as_rows(health.problems(run.stream_table_at(public), now(), warn_after, error_after))
        except TrickleError as problem:
            raise DbtRuntimeError(str(problem.about(str(public)))) from problem

    @property
    def _dbt_target(self) -> str:
        return dbt_target(self.config.target_name, self.config.credentials.schema)

    def _is_sampled(self) -> bool:
        """--empty or --sample. Asked here, because Jinja's `flags` do not have the second one."""
        arguments = self.config.args
        return bool(getattr(arguments, "EMPTY", False) or getattr(arguments, "SAMPLE", None))

    def create_schema(self, relation: Any) -> None:
        """dbt does so before any model runs, and the metastore would answer in words of its own."""
        if self.config.credentials.method == SparkConnectionMethod.SESSION:
            try:
                names.check_schema(str(relation.schema), "a model's `schema`, or the profile's")
            except TrickleError as problem:
                raise DbtRuntimeError(str(problem)) from problem
        super().create_schema(relation)

    # --- dbt's hooks ---------------------------------------------------------------------------

    def pre_model_hook(self, config: Any) -> Any:
        """Delta is the default format of every model, seed and snapshot.

        dbt-spark's macros ask config.get('file_format') and take parquet when it is not there; parquet
        tables are dropped and re-created on each run and keep no history, so nothing could be maintained.
        """
        node_config = getattr(config.model, "config", None)
        if node_config is not None and node_config.get("file_format") is None:
            node_config._extra["file_format"] = "delta"
        self._before_other_materialization(config.model)
        return super().pre_model_hook(config)

    def _before_other_materialization(self, node: Any) -> None:
        materialized = getattr(getattr(node, "config", None), "materialized", None)
        if materialized in (None, *NO_RELATION, "stream_table", "seed", "snapshot") or not node.schema:
            return
        relation = Relation.of(str(node.schema), str(node.alias))
        try:
            leave.before_other_materialization(AdapterSession(self), self._run(), relation, materialized)
        except TrickleError as problem:
            raise DbtRuntimeError(str(problem)) from problem

    def post_model_hook(self, config: Any, context: Any) -> None:
        """dbt calls this when a node was built, and also when it could not be."""
        super().post_model_hook(config, context)
        failure = sys.exc_info()[1]
        node = getattr(config, "model", None)
        materialized = getattr(getattr(node, "config", None), "materialized", None)
        if materialized in (None, *NO_RELATION) or not node.schema:
            return
        relation = Relation.of(str(node.schema), str(node.alias))
        if materialized == "stream_table":
            if failure is not None:
                self._note_failure(names.pgt_id(str(node.unique_id), relation), failure)
            return
        # Who reads it next must see what was written; and if it was a stream table until now, what was
        # behind it goes.
        try:
            leave.after_other_materialization(AdapterSession(self), self._run(), relation, built=failure is None)
        except (TrickleError, DbtRuntimeError) as problem:
            # The model itself has been built; its outcome must not be lost for a clean-up.
            logger.warning(f"could not look after the former stream table {relation}: {problem}")

    def _note_failure(self, number: int, failure: BaseException) -> None:
        """What a refresh does not tell the history itself: that something failed before it, or that it has a bug."""
        run = self._invocation
        if run is None or not run.is_pending(number):
            return
        said = secrets.masked(str(getattr(failure, "msg", None) or failure))
        name = type(failure).__name__
        if isinstance(failure, TrickleBug):
            fail(run, number, TrickleError("TRK-900", failure.what, remedy=A_BUG))
        elif number in self._begun:
            fail(run, number, TrickleError("TRK-900", f"{name}: {said}" if said else name, remedy=A_BUG))
        else:
            fail(run, number, ModelError("TRK-211", said or name, remedy=BEFORE_ITS_REFRESH))

    def _get_columns_for_catalog(self, relation: Any) -> Iterable[dict[str, Any]]:
        """dbt docs: columns, types and comments as DESCRIBE tells them.

        dbt-spark reads SHOW TABLE EXTENDED, which has no comments, and types in other words (long).
        """
        try:
            rows = self.execute_macro("get_columns_in_relation_raw", kwargs={"relation": relation})
        except DbtRuntimeError as problem:
            # Somebody dropped it meanwhile, or it is a view over something dropped: the docs go without it.
            logger.debug(f"no columns of {relation} for the catalog: {problem}")
            return
        yield from described.catalog_rows(relation, [tuple(row) for row in rows])

    def cleanup_connections(self) -> None:
        """dbt calls this once, when its run has ended, however it ended."""
        try:
            self._close_invocation()
        finally:
            super().cleanup_connections()

    def cancel_open_connections(self) -> Any:
        self._cancelled.set()
        return super().cancel_open_connections()

    # --- inside --------------------------------------------------------------------------------

    def _run(self) -> Invocation:
        """The state of this dbt invocation; a process may have several, one after the other."""
        with self._guard:
            current = get_invocation_id()
            if self._invocation is None or self._invocation.invocation_id != current:
                self._cancelled.clear()
                self._begun.clear()
                self._invocation = Invocation(
                    current, self.trickle_settings(), now, _tell, self._wait, logger.warning, self.initiated_by
                )
            return self._invocation

    def _wait(self, seconds: float) -> bool:
        """Before another attempt; none is made after Ctrl-C."""
        return not self._cancelled.wait(seconds)

    def trickle_settings(self) -> configuration.ProjectSettings:
        declared = self.config.vars.to_dict() if hasattr(self.config, "vars") else {}
        variables = {
            **{k: v for k, v in declared.items() if not isinstance(v, dict)},
            **declared.get(self.config.project_name, {}),
            **getattr(self.config, "cli_vars", {}),
        }
        return configuration.settings(variables)

    def _close_invocation(self) -> None:
        run, self._invocation = self._invocation, None
        if run is None or not run.has_news:
            return
        try:
            with self.connection_named("trickle_close"):
                run.close(AdapterSession(self))
        except (TrickleError, DbtRuntimeError) as problem:
            logger.warning(
                f"the catalog {run.settings.catalog_schema} could not be written: {problem}\n"
                "Nothing is lost: the next run reads what was committed from the storages themselves."
            )
