"""Groups that carry their own state: what is stored plus what changed is what they are now.

No row of the sources is read but the changed ones. A group lives as long as it has rows; the one group of a
query without GROUP BY always does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbt_trickle.capture.base import WEIGHT
from dbt_trickle.delta.aggregate.functions import Part, Rule, rule
from dbt_trickle.delta.context import WENT, Delta
from dbt_trickle.names import RESERVED_PREFIX, literal, quote
from dbt_trickle.tree.algebra import Aggregate, only_grows
from dbt_trickle.tree.identity import ROW_ID, row_id
from dbt_trickle.tree.render import state
from dbt_trickle.tree.values import Call

COUNT = f"{RESERVED_PREFIX}count"
_W = quote(WEIGHT)
TOO_FEW = "[TRK-310] more rows left a group than were in it: its stored state is not what it should be"


@dataclass(frozen=True)
class Typed:
    """A call's types, as Spark tells them: what its rule depends on."""

    name: str
    argument: str | None
    result: str


@dataclass(frozen=True)
class Stateful:
    """An aggregate all of whose calls follow from hidden columns of its groups."""

    tree: Aggregate
    rules: tuple[Rule, ...]

    @property
    def hidden(self) -> tuple[tuple[str, str], ...]:
        """Names and types of the hidden columns."""
        return ((COUNT, "BIGINT"), *((name, part.type) for name, part, _ in _parts(self)))

    @property
    def growing(self) -> str:
        """A call that is right only as long as rows come and none go, if there is one."""
        calls = zip(self.tree.calls, self.rules, strict=True)
        return next((call.value.sql for call, each in calls if each.only_grows), "")

    def follows(self, append_only: bool) -> bool:
        """Whether this time what is stored and what changed are enough; `append_only`: no source lost a row."""
        return append_only or not self.growing


def stateful(tree: Aggregate, typed: Sequence[Typed], *, fast: bool = False) -> Stateful | str:
    """Or the reason why the groups have to be computed anew. `fast`: sums of doubles may lose what doubles lose."""
    types = {each.name: each for each in typed}
    grows = only_grows(tree.child)
    rules = []
    for call in tree.calls:
        of = types[call.name]
        found = rule(call.function, of.argument, of.result, fast=fast, grows=grows) if call.of_rows else None
        if found is None:
            return f"{call.value.sql} cannot be brought forward from what is stored"
        rules.append(found)
    return Stateful(tree, tuple(rules))


def loaded(aggregate: Stateful, at: Mapping[str, str]) -> str:
    """The groups with their hidden columns, from the rows."""
    tree = aggregate.tree
    chosen = [f"{key.value.sql} AS {quote(key.name)}" for key in tree.keys]
    chosen += [f"{call.value.sql} AS {quote(call.name)}" for call in tree.calls]
    chosen.append(f"count(*) AS {quote(COUNT)}")
    chosen += [
        f"CAST({part.of_rows.format(x=_argument(call))} AS {part.type}) AS {quote(name)}"
        for name, part, call in _parts(aggregate)
    ]
    group = f"\nGROUP BY {', '.join(key.value.sql for key in tree.keys)}" if tree.keys else ""
    return f"SELECT {', '.join(chosen)}\nFROM (\n{state(tree.child, at)}\n){group}"


def changed(aggregate: Stateful, below: Delta, cte: str) -> Delta:
    """What is added to each group's hidden columns; groups to which nothing is added are left out.

    Where rows may only come, something is added where there are any; one that went is a bug, not to be passed over.
    """
    tree = aggregate.tree
    came = f"CASE WHEN {_W} < 0 THEN raise_error({literal(WENT)}) ELSE {_W} END" if aggregate.growing else _W
    parts = [(name, part, part.of_changes.format(x=_argument(call), w=_W)) for name, part, call in _parts(aggregate)]
    sums = [(COUNT, f"SUM({came})"), *((name, total) for name, part, total in parts if not part.together)]
    others = [(name, value) for name, part, value in parts if part.together]
    chosen = [f"{key.value.sql} AS {quote(key.name)}" for key in tree.keys]
    chosen += [f"coalesce({total}, 0) AS {quote(column)}" for column, total in sums]
    chosen += [f"{value} AS {quote(column)}" for column, value in others]
    group = f"\nGROUP BY {', '.join(key.value.sql for key in tree.keys)}" if tree.keys else ""
    some = " OR ".join(f"{total} <> 0" for _, total in sums)
    return below.then(cte, f"SELECT {', '.join(chosen)}\nFROM {quote(below.name)}{group}\nHAVING {some}")


def brought_forward(
    aggregate: Stateful, changes: str, storage: str, key_columns: Sequence[str], *, with_stored: bool = False
) -> str:
    """Keys, calls and hidden columns of the changed groups as they are now.

    `storage`: FROM text of what is stored, at the version that the change was worked out for.
    `key_columns`: the storage's names of the keys, in the tree's order.
    `with_stored`: those that did not change as well, from their state, as they are.
    """
    tree = aggregate.tree
    keys = [f"d.{quote(key.name)}" for key in tree.keys]
    same = [f"t.{quote(ROW_ID)} = {row_id(keys)}"]
    same += [f"t.{quote(stored)} <=> {key}" for stored, key in zip(key_columns, keys, strict=True)]
    named = keys
    if with_stored:
        unchanged = f"d.{quote(COUNT)} IS NULL"
        named = [f"IF({unchanged}, t.{quote(s)}, {key})" for s, key in zip(key_columns, keys, strict=True)]
    added = "coalesce({t}, 0) + " + ("coalesce({d}, 0)" if with_stored else "{d}")
    together = {name: part.together or added for name, part, _ in _parts(aggregate)}
    moved = ", ".join(
        [
            *(f"{key} AS {quote(k.name)}" for key, k in zip(named, tree.keys, strict=True)),
            *(
                f"CAST({together.get(name, added).format(t=f't.{quote(name)}', d=f'd.{quote(name)}')} AS {kind}) "
                f"AS {quote(name)}"
                for name, kind in aggregate.hidden
            ),
        ]
    )
    hint, kind = ("", "FULL OUTER") if with_stored else ("/*+ BROADCAST(d) */ ", "LEFT")
    values = [
        *(quote(key.name) for key in tree.keys),
        *(f"{value} AS {quote(call.name)}" for call, value in _values(aggregate)),
        *(quote(column) for column, _ in aggregate.hidden),
    ]
    return (
        f"SELECT {', '.join(values)}\nFROM (\nSELECT {hint}{moved}\n"
        f"FROM {quote(changes)} AS d\n{kind} JOIN {storage} AS t ON {' AND '.join(same)}\n)"
    )


def gone(aggregate: Stateful) -> str:
    """Whether a group has no rows any more. One that has fewer than none was never what it was taken for."""
    if not aggregate.tree.keys:
        return "false"
    count = quote(COUNT)
    return f"CASE WHEN {count} < 0 THEN raise_error({literal(TOO_FEW)}) ELSE {count} = 0 END"


def _parts(aggregate: Stateful) -> list[tuple[str, Part, Call]]:
    return [
        (f"{RESERVED_PREFIX}part_{i}_{j}", part, call)
        for i, (call, each) in enumerate(zip(aggregate.tree.calls, aggregate.rules, strict=True))
        for j, part in enumerate(each.parts)
    ]


def _values(aggregate: Stateful) -> list[tuple[Call, str]]:
    found = []
    for i, (call, each) in enumerate(zip(aggregate.tree.calls, aggregate.rules, strict=True)):
        columns = [quote(f"{RESERVED_PREFIX}part_{i}_{j}") for j in range(len(each.parts))]
        found.append((call, each.value.format(*columns)))
    return found


def _argument(call: Call) -> str:
    return "*" if call.argument is None else f"({call.argument.sql})"
