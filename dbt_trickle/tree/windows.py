"""Calls over a window: what is computed of a row and the others of its partition."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

from sqlglot import exp

from dbt_trickle.sql import verbatim
from dbt_trickle.tree.algebra import Operator, Window
from dbt_trickle.tree.calls import aggregate_of
from dbt_trickle.tree.expressions import column, expr, rebuilt
from dbt_trickle.tree.functions import POSITIONS, RANKS
from dbt_trickle.tree.grouping import Output
from dbt_trickle.tree.scope import Names, spelling
from dbt_trickle.tree.unsupported import unsupported
from dbt_trickle.tree.values import Over


def windows_spelled_out(select: exp.Select) -> exp.Select:
    """OVER w with what WINDOW w AS (…) says of it."""
    if not select.args.get("windows"):
        return select
    select = select.copy()
    defined = {spelling(each.name): each for each in select.args["windows"]}
    select.set("windows", None)
    for shown in select.expressions:
        for node in shown.walk(prune=lambda each: isinstance(each, exp.Query)):
            if isinstance(node, exp.Window) and node.alias:
                meant = defined.get(spelling(node.alias))
                if meant is None or meant.alias:
                    raise unsupported(f"the window {node.alias} is not known", node)
                for part in ("partition_by", "order", "spec"):
                    node.set(part, deepcopy(meant.args.get(part)))
                node.set("alias", None)
    return select


def windowed(
    tree: Operator, outputs: tuple[Output, ...], prefix: str, names: Names
) -> tuple[Operator, tuple[Output, ...]]:
    """The calls below the select list: one operator for all of one PARTITION BY."""
    found = {verbatim.printed(node): node for output in outputs for node in output.value.find_all(exp.Window)}
    if not found:
        return tree, outputs
    aliases = {verbatim.printed(each.value): each.name for each in outputs if each.aliased}
    by_partition: dict[str, list[str]] = {}
    for text, node in found.items():
        partition = node.args.get("partition_by") or []
        if not partition:
            raise unsupported("a window without PARTITION BY is over all rows, and is recomputed with them", node)
        by_partition.setdefault(", ".join(map(verbatim.printed, partition)), []).append(text)
    named = {}
    below = tree
    for texts in by_partition.values():
        calls = []
        for text in texts:
            alias = aliases.get(text)
            name = names.fresh(prefix + alias) if alias else names.numbered(aggregate_of(found[text].this).name)
            named[text] = name
            calls.append(_over(name, found[text], below))
        partition = found[texts[0]].args["partition_by"]
        tree = Window(tree, tuple(map(expr, partition)), tuple(calls))
    return tree, tuple(replace(each, value=_above(each.value, named)) for each in outputs)


def _above(value: exp.Expr, named: dict[str, str]) -> exp.Expr:
    if isinstance(value, exp.Window):
        return column(named[verbatim.printed(value)])
    return rebuilt(value, lambda child: _above(child, named))


def _over(name: str, node: exp.Window, below: Operator) -> Over:
    call = aggregate_of(node.this)
    first = call.expressions[0] if len(call.expressions) == 1 else None
    argument = expr(first) if first is not None and not isinstance(first, exp.Star) else None
    return Over(name, call.name, expr(node), argument, _by_position(node, call.name, below))


def _by_position(node: exp.Window, function: str, below: Operator) -> bool:
    """Rows that ORDER BY takes for equal come in any order; where it names all their columns they are alike."""
    order = node.args.get("order")
    if function in RANKS and order is not None:
        return False
    spec = node.args.get("spec")
    frame = str(spec.args.get("kind") or "").upper() if spec is not None else "RANGE"
    if function in POSITIONS or frame != "RANGE":
        ordered = [each.this for each in order.expressions] if order is not None else []
        told = {each.name for each in (*ordered, *node.args["partition_by"]) if isinstance(each, exp.Column)}
        return not set(below.columns) <= told
    return False
