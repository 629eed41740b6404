"""Stream tables over the corpus: loaded, refreshed after each round of changes, compared with their queries."""

from __future__ import annotations

import re
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from engine_world import World

from dbt_trickle.errors import TrickleError
from dbt_trickle.run.announced import Planned
from dbt_trickle.run.refresh import refresh
from dbt_trickle.run.request import Request
from dbt_trickle.tree.functions import BY_ORDER

NOT_TOLD = "too many of the first rows went"
REFUSED = ("TRK-206",)  # columns without names of their own
DIFFERENTIAL, FULL = "differential", "full"
# Of these Spark itself may give another value each time: as many rows, with whatever they are.
_BY_ORDER = re.compile(rf"\b({'|'.join(sorted(BY_ORDER))})\s*\(|rows between|ntile|row_number|lag\(", re.IGNORECASE)


@dataclass
class Corpus:
    world: World
    requests: dict[str, Request] = field(default_factory=dict)
    recorded: dict[str, str] = field(default_factory=dict)  # what became of each query
    wrong: list[str] = field(default_factory=list)
    recomputed: list[str] = field(default_factory=list)  # since of their first rows too many went

    def load(self, queries: Mapping[str, str], tables: Mapping[str, str]) -> None:
        for name, text in queries.items():
            query = text.format(**tables)
            try:
                self._run({name: self.world.request(name, query, refresh_mode=DIFFERENTIAL)})
            except TrickleError as problem:
                if problem.code in REFUSED:
                    self.recorded[name] = f"refused: {problem.code}"
                    continue
                if problem.code != "TRK-203":
                    raise
                self.recorded[name] = f"{FULL}: {self._plain(problem.what, tables)}"
                self._run({name: self.world.request(name, query, refresh_mode=FULL)})
            else:
                self.recorded[name] = DIFFERENTIAL
            self.compare(name, "the load")

    def round(self, about: str) -> None:
        for name, request in list(self.requests.items()):
            try:
                outcome = self._run({name: request})[name]
            except TrickleError as problem:
                if NOT_TOLD not in str(problem):
                    self.wrong.append(f"{name}, {about}: {problem}")
                    continue
                # With `differential` that is an error: it goes on from a full refresh.
                self.recomputed.append(f"{name}, {about}")
                self._run({name: replace(request, full_refresh=True)})
                self.requests[name] = request
                self.compare(name, about)
                continue
            action, due = outcome.refresh.action, self.recorded[name].split(":")[0]
            if action not in ("NO_DATA", due.upper()):
                self.wrong.append(f"{name}, {about}: {action} ({outcome.refresh.reason}), and {due} was recorded")
            self.compare(name, about)

    def compare(self, name: str, about: str) -> None:
        request = self.requests[name]
        shown, now = (self._rows(text) for text in (f"SELECT * FROM {request.public.sql}", request.query))
        if _BY_ORDER.search(request.query):
            shown, now = Counter({"rows": shown.total()}), Counter({"rows": now.total()})
        if shown != now:
            told = f"missing {list((now - shown).items())[:3]}, surplus {list((shown - now).items())[:3]}"
            self.wrong.append(f"{name}, {about}: {told}\n    {request.query}")

    def _run(self, requests: Mapping[str, Request]) -> dict[str, Any]:
        session, run = self.world.connect(), self.world.invocation()
        try:
            run.open(session, [Planned(r.pgt_id, str(uuid.uuid4()), r.public) for r in requests.values()])
            found = {}
            for name, request in zip(requests, self.world.with_what_is_there(requests.values()), strict=True):
                found[name] = refresh(request, session, run)
                self.requests[name] = requests[name]
            return found
        finally:
            run.close(session)

    def _rows(self, query: str) -> Counter[str]:
        return Counter(str(tuple(row.values())) for row in self.world.looking.query(query))

    def _plain(self, reason: str, tables: Mapping[str, str]) -> str:
        """The reason, without what this run's tables are called."""
        text = reason.partition("it can only be recomputed: ")[2] or reason
        for name, table in tables.items():
            text = text.replace(f"spark_catalog.{table}", name).replace(table, name)
        return text
