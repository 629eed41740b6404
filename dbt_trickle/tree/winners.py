"""`row_number() … = 1`: which rows it may choose where several tie for the first place.

For `verify`, which shares nothing with what maintains a stream table: the user's own text, with one word changed.
"""

from __future__ import annotations

from sqlglot import exp

from dbt_trickle.sql import verbatim
from dbt_trickle.sql.text import Edit, splice, words
from dbt_trickle.tree.functions import OF_LAMBDAS, SCALARS
from dbt_trickle.tree.leeway import leeway_of_text

_CHOOSES, _TAKES_ALL = "row_number", "rank"
# Of more rows below, these have others than all of what they have of fewer.
_NOT_GROWING = (
    *(exp.Group, exp.Having, exp.Distinct, exp.SetOperation, exp.Limit, exp.Offset, exp.Fetch, exp.Pivot, exp.Exists),
    *(exp.TableSample, exp.Any, exp.All),
)


def with_all_that_tie(text: str) -> str | None:
    """With rank() for row_number(): what the query may give is some of that one's rows, whichever order Spark takes.

    None where that is not certain: where the number is not only asked whether it is 1, and once; or where a row less
    below could be a row more in the end.
    """
    query = verbatim.parse(text)
    if not isinstance(query, exp.Query):
        return None
    numbers = [window for window in query.find_all(exp.Window) if _is_call(window.this, _CHOOSES)]
    if len(numbers) != 1 or len(list(query.find_all(exp.Window))) != 1 or not _grows(query):
        return None
    named = numbers[0].parent
    if not isinstance(named, exp.Alias) or not isinstance(named.parent, exp.Select) or named.parent is query:
        return None
    if not _only_asked_for_the_first(query, named.parent, named.alias.lower()):
        return None
    tokens = [token for token in verbatim.Verbatim().tokenize(text) if token.text.lower() == _CHOOSES]
    if len(tokens) != 1:
        return None
    wider = splice(text, [Edit(tokens[0].start, tokens[0].end + 1, _TAKES_ALL)])
    # Under that name it is no choice; whatever else is one makes the result uncertain in other ways.
    left = " ".join(word for word in words(text) if word != _CHOOSES)
    return wider if not leeway_of_text(left).rows else None


def _is_call(node: exp.Expr, name: str) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.lower() == name


def _grows(query: exp.Query) -> bool:
    """Whether a row more below can only be rows more above; each query is read once."""
    if any(query.find_all(*_NOT_GROWING)):
        return False
    if any(join.side or join.kind.upper() not in ("", "INNER", "CROSS") for join in query.find_all(exp.Join)):
        return False
    calls = (call for call in query.find_all(exp.Anonymous) if not _is_call(call, _CHOOSES))
    if not all(isinstance(call.this, str) and call.this.lower() in SCALARS | OF_LAMBDAS for call in calls):
        return False
    within = (each for each in query.find_all(exp.Query) if each is not query and not isinstance(each, exp.Subquery))
    if not all(_is_a_relation(each) for each in within):
        return False
    read = [table.name.lower() for table in query.find_all(exp.Table) if len(table.parts) == 1]
    return all(read.count(cte.alias.lower()) == 1 for cte in query.find_all(exp.CTE))


def _is_a_relation(query: exp.Expr) -> bool:
    parent = query.parent
    while isinstance(parent, exp.Subquery) and isinstance(parent.parent, exp.Subquery):
        parent = parent.parent
    return isinstance(parent, exp.CTE) or (
        isinstance(parent, exp.Subquery) and isinstance(parent.parent, (exp.From, exp.Join))
    )


def _only_asked_for_the_first(query: exp.Query, numbered: exp.Select, name: str) -> bool:
    """All that names the number asks in the WHERE of the one query that reads it whether it is 1, or shows it last."""
    found = _reader(query, numbered)
    if found is None or any(each.args.get("using") or each.args.get("method") for each in query.find_all(exp.Join)):
        return False  # columns that are named there are not seen
    reader, alias = found
    alone = not (reader.args.get("joins") or reader.args.get("laterals"))
    asked = False
    for column in query.find_all(exp.Column):
        if column.name.lower() != name:
            continue
        its = column.table.lower() == alias if column.table else alone
        if not its or column.find_ancestor(exp.Select) is not reader:
            return False
        if _is_the_first(column):
            asked = True
        elif column.parent is not query:
            return False
    return asked


def _reader(query: exp.Query, numbered: exp.Select) -> tuple[exp.Select, str] | None:
    """The SELECT that reads the numbered rows, and what it calls them."""
    holder: exp.Expr | None = numbered.parent
    read, called = holder, ""
    if isinstance(holder, exp.CTE):
        called = holder.alias.lower()
        tables = [each for each in query.find_all(exp.Table) if len(each.parts) == 1 and each.name.lower() == called]
        read = tables[0] if len(tables) == 1 else None
    reader = read.find_ancestor(exp.Select) if read is not None else None
    if holder is None or read is None or reader is None:
        return None
    given = [each.args["alias"] for each in (holder, read) if each.args.get("alias")]
    if any(each.columns for each in given):
        return None
    return reader, read.alias.lower() or called


def _is_the_first(column: exp.Column) -> bool:
    equal = column.parent
    if not isinstance(equal, exp.EQ):
        return False
    other = equal.expression if equal.this is column else equal.this
    if not isinstance(other, exp.Literal) or other.is_string or other.this != "1":
        return False
    node = equal.parent
    while isinstance(node, (exp.And, exp.Paren)):
        node = node.parent
    return isinstance(node, exp.Where)
