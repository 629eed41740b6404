"""Lambdas: their variables are no columns, and are called as no column is."""

from __future__ import annotations

from sqlglot import exp

from dbt_trickle.names import RESERVED_PREFIX
from dbt_trickle.tree.expressions import name_parts
from dbt_trickle.tree.unsupported import not_yet

_OF = f"{RESERVED_PREFIX}of_"


def with_own_variables(node: exp.Lambda) -> exp.Lambda:
    """The parser has names of columns in the body, and for the lambda's variables bare identifiers."""
    given = [each.name for each in node.expressions if isinstance(each, exp.Identifier)]
    if len(given) != len(node.expressions) or not all(name.isidentifier() for name in given):
        raise not_yet("a lambda with variables of such names", node)
    called = {name.lower(): f"{_OF}{name.lower().removeprefix(_OF)}" for name in given}
    body = exp.Paren(this=node.this.copy())
    for each in list(body.walk()):
        if isinstance(each, exp.Column) and (parts := name_parts(each)) and parts[0].lower() in called:
            raise not_yet(f"the lambda's variable {parts[0]}, spelled in two ways,", node)
        if isinstance(each, exp.Identifier) and _is_variable(each) and each.name.lower() in called:
            each.replace(exp.Var(this=called[each.name.lower()]))
    variables = [exp.Identifier(this=called[name.lower()], quoted=False) for name in given]
    return exp.Lambda(this=body.this, expressions=variables)


def _is_variable(node: exp.Identifier) -> bool:
    """Not the name of a column, of a field or of another lambda's variable, where that is introduced."""
    if isinstance(node.parent, (exp.Column, exp.Alias, exp.DataType)):
        return False
    if isinstance(node.parent, exp.Dot):
        return node.arg_key == "this"
    return not (isinstance(node.parent, exp.Lambda) and node.arg_key == "expressions")
