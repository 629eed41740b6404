"""Whether a query can be maintained, and what its storage must hold for that: asked when it is loaded, then known."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbt_trickle.apply import unrestricted
from dbt_trickle.apply.base import incomparable
from dbt_trickle.apply.choose import never_cheaper
from dbt_trickle.apply.shape import FORMAT, Shape
from dbt_trickle.capture.types import Incomparable, comparison
from dbt_trickle.catalog.state import Column
from dbt_trickle.delta.aggregate.state import Typed, stateful
from dbt_trickle.errors import ModelError, TrickleBug, WarehouseError
from dbt_trickle.formats import delta
from dbt_trickle.formats.base import Frontier
from dbt_trickle.masking import masked
from dbt_trickle.names import placeholder
from dbt_trickle.run.columns import described, positions, types_of
from dbt_trickle.run.doubts import doubt
from dbt_trickle.run.plans import of_today, plans_differ
from dbt_trickle.run.session import Session, passes
from dbt_trickle.run.situation import Situation
from dbt_trickle.sql.text import origin, without_terminator
from dbt_trickle.sql.verbatim import without_order
from dbt_trickle.tree import guard
from dbt_trickle.tree.algebra import Aggregate, Operator, Project, scans
from dbt_trickle.tree.build import Built, Schema, Unsupported, build
from dbt_trickle.tree.identity import grouped, identity, partitioned, with_keys
from dbt_trickle.tree.leeway import NO_LEEWAY, Leeway, leeway, leeway_of_text
from dbt_trickle.tree.render import state
from dbt_trickle.tree.size import too_large


@dataclass(frozen=True)
class Understood:
    """`shape`: none where the query is recomputed, for the reason told."""

    shape: Shape | None
    reason: str = ""
    schemas: Mapping[str, tuple[tuple[str, str], ...]] | None = None
    typed: tuple[Typed, ...] = ()
    keys: tuple[Column, ...] = ()  # that are stored and not shown
    leeway: Leeway = NO_LEEWAY  # of the query's result, the columns by their names there
    # By what the query means: why it is recomputed, where Spark was asked for that.
    refused: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def mark(self) -> str:
        return self.shape.mark if self.shape is not None else ""

    def other_than(self, remembered: Mapping[str, Any]) -> str:
        """A column that it reads and that was not there, or of another type, when `remembered` was."""
        known = remembered.get("schemas", {})
        for scan in scans(self.shape.tree) if self.shape is not None else ():
            types = dict(known.get(scan.source, ()))
            for field in scan.fields:
                was = types.get(field.source_name)
                if was != field.type:
                    told = f"was {was} and is {field.type}" if was else "was not read before"
                    return f"{scan.source}: column {field.source_name} {told}"
        return ""

    def remembered(self) -> dict[str, Any]:
        """What the next refresh need not ask again."""
        return {
            "format": FORMAT,
            "mark": self.mark,
            "reason": self.reason,
            "refused": dict(self.refused),
            "schemas": {key: [list(column) for column in columns] for key, columns in (self.schemas or {}).items()},
            "typed": [[each.name, each.argument, each.result] for each in self.typed],
            "keys": {key.name: key.type for key in self.keys},
            "leeway": self.leeway.to_row(),
        }


def understand(here: Situation, columns: tuple[Column, ...], *, anew: bool) -> Understood:
    """Every obstacle is a reason for recomputing.

    `anew`: nothing that is remembered of the query counts, because the query or what it reads is another one.
    """
    try:
        return _understood(here, columns, anew)
    except RecursionError:
        return Understood(None, "the query is nested too deeply")


def _understood(here: Situation, columns: tuple[Column, ...], anew: bool) -> Understood:
    session, frontier = here.session, here.pinned.frontier
    remembered = here.before.engine if here.before is not None and not anew else {}
    if remembered.get("format") != FORMAT:
        remembered = {}  # by other checks
    tables = delta.tables(frontier)
    if obstacle := _obstacle(here, columns):
        return _not_maintained(here, columns, obstacle, tables, remembered)
    schemas = _schemas(here, tables, remembered)
    try:
        built = _built(here, schemas)
    except (Unsupported, TrickleBug) as problem:
        return _not_understood(here, str(problem), schemas, remembered)
    if obstacle := _untold(here, built.tree, anew) or too_large(built.tree):
        return _not_understood(here, obstacle, schemas, remembered)
    at = {key: delta.read_at(version) for key, version in tables.items()}
    known = _leeway(built, columns)
    declared = positions("primary_key", here.request.config.primary_key, columns)
    if grouped(built.tree) is not None:
        declared = ()  # its groups are a key that is known, not promised, and their state can be kept
    tree, keys = (built.tree, ()) if declared else _with_keys(session, built.tree, at, remembered)
    groups, found = grouped(tree), identity(tree, declared)
    typed: tuple[Typed, ...] = ()
    kept, why = None, ""
    if groups is not None and found.by_groups and tree.child is groups:
        typed = _typed(session, groups, at, remembered)
        result = stateful(groups, typed, fast=here.run.settings.float_aggregates == "fast")
        kept, why = (None, result) if isinstance(result, str) else (result, "")
    if obstacle := unrestricted.obstacle(tree, kept, why):
        refused = _not_understood(here, obstacle, schemas, remembered)
        return dataclasses.replace(refused, typed=typed, leeway=known)  # its types need not be asked for again
    shape = Shape((*columns, *keys), tree, found, kept, why, len(keys))
    if obstacle := never_cheaper(shape):
        return dataclasses.replace(_not_understood(here, obstacle, schemas, remembered), leeway=known)
    if remembered.get("mark") != shape.mark:
        # What cannot be maintained is not planned again on each run, but by a release that finds out otherwise.
        meant = _digest(guard.candidates(built.tree, {key: key for key in tables}), schemas)
        try:
            top = groups if found.by_groups else partitioned(tree)
            text = without_order(here.pinned.text) if built.ordered else here.pinned.text
            reason = remembered.get("refused", {}).get(meant, "")
            if not reason and (doubted := doubt(session, built.tree, top, at)):
                reason = "; ".join(filter(None, (doubted, of_today(session, here.pinned.text, schemas))))
            if not reason and (differs := plans_differ(session, text, built, at)):
                reason = masked(f"Spark plans it differently from how it was understood: {differs}")
        except WarehouseError as problem:
            if passes(problem):
                raise
            return Understood(None, f"Spark did not plan it: {problem.what}", schemas, leeway=known)
        if reason:
            return Understood(None, reason, schemas, refused={meant: reason}, leeway=known)
    return Understood(shape, "", schemas, typed, keys, leeway=known)


def _not_maintained(
    here: Situation, columns: tuple[Column, ...], reason: str, tables: Frontier, remembered: Mapping[str, Any]
) -> Understood:
    """As the user has it, or by a type. What the query may hang on besides is looked for where nothing else has it
    computed on each run.
    """
    known = str(remembered.get("reason", ""))
    if known.startswith(reason):
        return Understood(None, known, leeway=Leeway.of_row(remembered["leeway"]))
    if here.pinned.unversioned or not tables:
        return Understood(None, reason, leeway=leeway_of_text(here.pinned.text))
    schemas = _schemas(here, tables, remembered)
    found = _not_understood(here, reason, schemas, remembered)
    try:
        return dataclasses.replace(found, leeway=_leeway(_built(here, schemas), columns))
    except (Unsupported, TrickleBug):
        return found


def _not_understood(
    here: Situation,
    reason: str,
    schemas: Mapping[str, tuple[tuple[str, str], ...]],
    remembered: Mapping[str, Any],
) -> Understood:
    """What it hangs on besides is found out once."""
    known = str(remembered.get("reason", ""))
    if known.startswith(reason):
        today = known.removeprefix(reason).removeprefix("; ")
    else:
        today = of_today(here.session, here.pinned.text, schemas)
    reason = f"{reason}; {today}" if today else reason
    return Understood(None, reason, schemas, leeway=leeway_of_text(here.pinned.text))


def _untold(here: Situation, tree: Operator, anew: bool) -> str:
    """A column that the query reads, and by which no capture could tell rows apart."""
    for source, field in ((scan.source, field) for scan in scans(tree) for field in scan.fields):
        found = comparison(field.source_name, field.type)
        if not isinstance(found, Incomparable):
            continue
        relation = here.pinned.frontier[source].relation
        mode = here.request.capture_of(relation)
        if anew and mode != "auto":
            raise ModelError(
                "TRK-214",
                f"`cdc_mode: {mode}` cannot capture {relation}: {found.reason}",
                remedy="Leave the column out of the query, or use `cdc_mode: auto`, which recomputes.",
            )
        return found.reason
    return ""


def _leeway(built: Built, columns: Sequence[Column]) -> Leeway:
    found = leeway(built.tree)
    known = dict(found.columns)
    pairs = zip(built.tree.columns, columns, strict=True)
    return Leeway(tuple((column.name, known[name]) for name, column in pairs if name in known), found.rows)


def _digest(texts: Sequence[str], schemas: Mapping[str, tuple[tuple[str, str], ...]]) -> str:
    return hashlib.sha256(repr((FORMAT, texts, sorted(schemas.items()))).encode()).hexdigest()


def _obstacle(here: Situation, columns: tuple[Column, ...]) -> str:
    config, pinned = here.request.config, here.pinned
    if not config.differential:
        return f"refresh_mode is {config.refresh_mode}"
    if pinned.unversioned:
        return "; ".join(map(str, pinned.unversioned))
    if not delta.tables(pinned.frontier):
        return "it reads no source"
    return incomparable(columns) or ""


def _built(here: Situation, schemas: Mapping[str, tuple[tuple[str, str], ...]]) -> Built:
    """A construct that is not maintained is told with its place in the text that dbt has compiled."""
    sources = {placeholder(key): Schema(key, columns) for key, columns in schemas.items()}
    try:
        # Of the user's own functions those are left here that may be called: others are an obstacle.
        return build(here.pinned.template, sources, here.pinned.functions)
    except Unsupported as problem:
        if problem.at is None:
            raise
        query = here.request.query
        begin = query.find(without_terminator(query))
        raise problem.within(query, begin + origin(here.pinned.places, problem.at)) from None


def _schemas(
    here: Situation, tables: Frontier, remembered: Mapping[str, Any]
) -> dict[str, tuple[tuple[str, str], ...]]:
    """Columns by source. Of one that stands where it stood, those that are remembered."""
    known = remembered.get("schemas", {})
    found = {}
    for key, version in tables.items():
        before = here.before.frontier.get(key) if here.before is not None else None
        if key in known and version.same_state(before):
            found[key] = tuple((str(name), str(kind)) for name, kind in known[key])
        else:
            found[key] = described(here.session, f"SELECT * FROM {delta.read_at(version)}")
    return found


def _with_keys(
    session: Session, root: Project, at: Mapping[str, str], remembered: Mapping[str, Any]
) -> tuple[Project, tuple[Column, ...]]:
    """The tree that is maintained, and what it has more columns than the query. What Spark does not plan has none."""
    tree = with_keys(root)
    added = tree.items[len(root.items) :]
    known = remembered.get("keys", {})
    kinds = [known.get(item.value.sql) for item in added]
    if None in kinds:
        try:
            kinds = types_of(session, [item.value for item in added], tree.child, at)
        except WarehouseError as problem:
            if passes(problem):
                raise
            return root, ()
    keys = tuple(Column(item.value.sql, str(kind), item.name) for item, kind in zip(added, kinds, strict=True))
    return (root, ()) if incomparable(keys) else (tree, keys)


def _typed(
    session: Session, groups: Aggregate, at: Mapping[str, str], remembered: Mapping[str, Any]
) -> tuple[Typed, ...]:
    known = {name: Typed(name, argument, result) for name, argument, result in remembered.get("typed", ())}
    if all(call.name in known for call in groups.calls):
        return tuple(known[call.name] for call in groups.calls)
    results = dict(described(session, state(groups, at)))
    kinds = types_of(session, [call.argument for call in groups.calls], groups.child, at)
    return tuple(Typed(call.name, kind, results[call.name]) for call, kind in zip(groups.calls, kinds, strict=True))
