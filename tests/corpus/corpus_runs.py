"""Stream tables over the corpus: loaded, refreshed after each round of changes, compared with their queries."""

from __future__ import annotations

import re
import uuid
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from engine_world import World

from dbt_trickle.errors import TrickleError
from dbt_trickle.run.announced import Outcome, Planned
from dbt_trickle.run.refresh import refresh
from dbt_trickle.run.request import Request
from dbt_trickle.tree.functions import BY_ORDER

NOT_TOLD = ("too many of the first rows went", "is brought forward only while none does")
REFUSED = ("TRK-206",)  # columns without names of their own
DIFFERENTIAL, FULL = "differential", "full"
# Of these Spark itself may give another value each time; asked of what is recomputed, of which no more is known.
_BY_ORDER = re.compile(rf"\b({'|'.join(sorted(BY_ORDER))})\s*\(|rows between|ntile|row_number|lag\(", re.IGNORECASE)


@dataclass
class Corpus:
    world: World
    requests: dict[str, Request] = field(default_factory=dict)
    uncertain: dict[str, frozenset[str] | None] = field(default_factory=dict)
    recorded: dict[str, str] = field(default_factory=dict)  # what became of each query
    wrong: list[str] = field(default_factory=list)
    recomputed: list[str] = field(default_factory=list)  # since rows went, and what is stored does not tell the rest

    def load(self, queries: Mapping[str, str], tables: Mapping[str, str]) -> None:
        """Differential what can be; all of one kind in one run."""
        texts = {name: text.format(**tables) for name, text in queries.items()}
        found = self._run({name: self._request(name, text, DIFFERENTIAL) for name, text in texts.items()})
        recomputed = {}
        for name, result in found.items():
            if not isinstance(result, TrickleError):
                self.recorded[name] = DIFFERENTIAL
            elif result.code in REFUSED:
                self.recorded[name] = f"refused: {result.code}"
            elif result.code == "TRK-203":
                self.recorded[name] = f"{FULL}: {self._plain(result.what, tables)}"
                recomputed[name] = self._request(name, texts[name], FULL)
            else:
                self._is_wrong(f"{name}, the load: {result}")
        for name, result in self._run(recomputed).items():
            if isinstance(result, TrickleError):
                self._is_wrong(f"{name}, the load: {result}")
        for name in self.requests:
            self.compare(name, "the load")

    def round(self, about: str) -> None:
        again = {}
        for name, result in self._run(self.requests).items():
            due = self.recorded[name].split(":")[0]
            if isinstance(result, TrickleError):
                if not any(reason in str(result) for reason in NOT_TOLD):
                    self._is_wrong(f"{name}, {about}: {result}")
                    continue
                # With `differential` that is an error: it goes on from a full refresh.
                self.recomputed.append(f"{name}, {about}")
                again[name] = replace(self.requests[name], full_refresh=True)
            elif result.refresh.action not in ("NO_DATA", due.upper()):
                told = f"{result.refresh.action} ({result.refresh.reason})"
                self._is_wrong(f"{name}, {about}: {told}, and {due} was recorded")
        known = dict(self.requests)
        for name, result in self._run(again).items():
            if isinstance(result, TrickleError):
                self._is_wrong(f"{name}, {about}: {result}")
        self.requests = known
        for name in self.requests:
            self.compare(name, about)

    def compare(self, name: str, about: str) -> None:
        request = self.requests[name]
        uncertain = self.uncertain.get(name, frozenset())
        shown, now = (self._rows(text, uncertain) for text in (f"SELECT * FROM {request.public.sql}", request.query))
        if uncertain is None:
            shown, now = Counter({"rows": shown.total()}), Counter({"rows": now.total()})
        if shown != now:
            told = f"missing {list((now - shown).items())[:3]}, surplus {list((shown - now).items())[:3]}"
            self._is_wrong(f"{name}, {about}: {told}\n    {request.query}")

    def _is_wrong(self, what: str) -> None:
        print(what, flush=True)  # the whole takes long
        self.wrong.append(what)

    def _request(self, name: str, query: str, mode: str) -> Request:
        return self.world.request(name, query, refresh_mode=mode)

    def _run(self, requests: Mapping[str, Request]) -> dict[str, Outcome | TrickleError]:
        """Of each what was done, or why not. One that was refreshed is one that is kept up to date from now on."""
        if not requests:
            return {}
        session, run = self.world.connect(), self.world.invocation()
        found: dict[str, Outcome | TrickleError] = {}
        try:
            run.open(session, [Planned(r.pgt_id, str(uuid.uuid4()), r.public) for r in requests.values()])
            for name, request in zip(requests, self.world.with_what_is_there(requests.values()), strict=True):
                try:
                    found[name] = done = refresh(request, session, run)
                    self.requests[name] = requests[name]
                    self.uncertain[name] = self._uncertain(done, request.query)
                except TrickleError as problem:
                    found[name] = problem
        finally:
            run.close(session)
        print(f"{len(found)} refreshed, {len(self.wrong)} wrong by now", flush=True)
        return found

    def _rows(self, query: str, uncertain: Collection[str] | None) -> Counter[str]:
        left = uncertain or ()
        rows = self.world.looking.query(query)
        return Counter(str(tuple(v for k, v in row.items() if k.lower() not in left)) for row in rows)

    def _uncertain(self, outcome: Outcome, query: str) -> frozenset[str] | None:
        """Columns of which Spark itself may give other values each time; none: other rows."""
        leeway = outcome.state.engine.get("leeway", {}) if outcome.state is not None else {}
        if leeway.get("rows"):
            return None
        if leeway.get("columns"):
            return frozenset(name.lower() for name in leeway["columns"])
        # What was not understood tells nothing of that.
        understood = outcome.state is not None and outcome.state.engine.get("mark")
        return None if not understood and _BY_ORDER.search(query) else frozenset()

    def _plain(self, reason: str, tables: Mapping[str, str]) -> str:
        """The reason, without what this run's tables are called."""
        text = reason.partition("it can only be recomputed: ")[2] or reason
        for name, table in tables.items():
            text = text.replace(f"spark_catalog.{table}", name).replace(table, name)
        return text
