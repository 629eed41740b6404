"""Random queries: a grammar whose every operator is one line of OPERATORS.

An operator is a function of a Select and of as many inputs as it takes, and gives the text of a query. An input,
written into the text, is a source or a query of another operator, with an alias; so any operator can stand in any
other one. What the Select is asked for (columns, values, conditions, keys …) is drawn at random, and what it writes
between SELECT and FROM is remembered: these are the columns that the operator above finds.

Columns are called a, b, c … by their position, whatever the operator: so that names hide each other, two sides of a
join have names in common, and branches of a set operation fit.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hypothesis import strategies as st
from lake import DEC, INT, KINDS, REAL, TABLES, TEXT

NAMES = "abcdefghijklmnopqrstuvwxyz"
NUMBERS = (INT, DEC, REAL)
CONSTANTS = {INT: ("1", "0", "2"), DEC: ("1.5", "0"), REAL: ("1", "0.5"), TEXT: ("'x'", "'y'")}


@dataclass(frozen=True)
class Value:
    sql: str
    kind: str


@dataclass(frozen=True)
class Input:
    """Something in FROM."""

    text: str
    alias: str
    columns: tuple[Value, ...]  # by their names

    def __str__(self) -> str:
        return f"{self.text} AS {self.alias}"


@dataclass(frozen=True)
class Query:
    text: str
    columns: tuple[Value, ...]
    key: tuple[int, ...] = ()  # positions of columns of which no two rows have the same values, where that is known


@dataclass
class Select:
    """What one query is made of. `draw` draws from a strategy."""

    draw: st.DrawFn
    columns: list[Value] = field(default_factory=list)
    by: str = ""  # GROUP BY has to say the keys once more
    key: tuple[int, ...] = ()

    def one(self, *options: str) -> str:
        return options[self.draw(st.integers(0, len(options) - 1))]

    def value(self, *inputs: Input, kinds: Sequence[str] = (INT, TEXT, DEC, REAL)) -> Value | None:
        """A column, or an expression of one; none: there is no column of these kinds."""
        found = [Value(f"{i.alias}.{c.sql}", c.kind) for i in inputs for c in i.columns if c.kind in kinds]
        if not found:
            return None
        value = found[self.draw(st.integers(0, len(found) - 1))]
        of = "upper({0})" if value.kind == TEXT else "-{0}"
        shape = self.one("{0}", "{0}", "{0}", of, "coalesce({0}, {1})", "CASE WHEN {0} = {1} THEN {0} END")
        return Value(shape.format(value.sql, CONSTANTS[value.kind][0]), value.kind)

    def known(self, *inputs: Input, kinds: Sequence[str] = (INT, TEXT, DEC, REAL)) -> Value:
        return self.value(*inputs, kinds=kinds) or Value("1", INT)

    def show(self, value: Value) -> str:
        """As the next column."""
        name = NAMES[len(self.columns)]
        self.columns.append(Value(name, value.kind))
        return value.sql if re.fullmatch(rf"\w+\.{name}", value.sql) else f"{value.sql} AS {name}"

    def all(self, *inputs: Input) -> str:
        return ", ".join(self.show(Value(f"{i.alias}.{c.sql}", c.kind)) for i in inputs for c in i.columns)

    def some(self, *inputs: Input) -> str:
        """One to three values."""
        return ", ".join(self.show(self.known(*inputs)) for _ in range(self.draw(st.integers(1, 3))))

    def alike(self, of: Input) -> str:
        """As many values as there are columns by now, of types that can stand in one column with theirs."""
        kinds = [[TEXT] if column.kind == TEXT else list(NUMBERS) for column in self.columns]
        values = [self.value(of, kinds=each) or Value(CONSTANTS[each[0]][0], each[0]) for each in kinds]
        for at, (column, value) in enumerate(zip(self.columns, values, strict=True)):
            if column.kind != TEXT and value.kind != column.kind:
                kind = REAL if REAL in (column.kind, value.kind) else DEC
                self.columns[at] = Value(column.sql, kind)
        return ", ".join(value.sql for value in values)

    def rows(self) -> str:
        """Two of constants, of which columns may be as they are by now."""
        found = [[self.one(*CONSTANTS[column.kind]) for column in self.columns] for _ in range(2)]
        return ", ".join(f"({', '.join(row)})" for row in found)

    def condition(self, *inputs: Input) -> str:
        """Of any kind; over two inputs mostly an equality of theirs."""
        found = [self._atom(*inputs) for _ in range(self.draw(st.integers(1, 2)))]
        found = [f"NOT ({each})" if self.one("", "", "", "NOT") else each for each in found]
        return self.one(" AND ", " OR ").join(found)

    def _atom(self, *inputs: Input) -> str:
        left = self.known(inputs[0])
        other = self.value(*inputs[1:] or inputs, kinds=NUMBERS if left.kind in NUMBERS else [TEXT])
        constant = Value(self.one(*CONSTANTS[left.kind]), left.kind)
        shape = self.one("{0} = {1}", "{0} <=> {1}", "{0} < {1}", "{0} IS NULL", "{0} IN ({2}, {1})", "{0} <> {1}")
        right = constant if other is None or (len(inputs) == 1 and self.one("", "column") == "") else other
        return shape.format(left.sql, right.sql, constant.sql)

    def using(self, x: Input, y: Input) -> str:
        """The columns that both have, where they compare; every pair where there is none."""
        theirs = {column.sql: column.kind for column in y.columns}
        shared = [c.sql for c in x.columns if c.sql in theirs and (c.kind == TEXT) == (theirs[c.sql] == TEXT)]
        return f"USING ({self.one(*shared)})" if shared else "ON true"

    def member(self, x: Input, y: Input) -> str:
        """Up to the subquery's FROM."""
        mine = self.known(x)
        other = self.value(y, kinds=NUMBERS if mine.kind in NUMBERS else [TEXT])
        constant = Value(CONSTANTS[mine.kind][0], mine.kind)
        return f"{mine.sql} {self.one('IN', 'NOT IN')} (SELECT {(other or constant).sql}"

    def membership(self, x: Input, y: Input) -> Value:
        """Where it is NULL, Spark says that it is false."""
        return Value(f"CASE WHEN {self.member(x, y)} FROM {y} WHERE {self.condition(y)}) THEN 1 ELSE 0 END", INT)

    def keys(self, *inputs: Input) -> str:
        values = [self.known(*inputs) for _ in range(self.draw(st.integers(1, 2)))]
        self.key = tuple(range(len(self.columns), len(self.columns) + len(values)))
        by_text = ", ".join(value.sql for value in values)
        numbers = ", ".join(str(position + 1) for position in self.key)
        self.by = self.one(by_text, numbers, "ALL")
        return ", ".join(map(self.show, values))

    def hidden(self, *inputs: Input) -> str:
        return self.known(*inputs).sql

    def calls(self, *inputs: Input) -> str:
        return ", ".join(self.show(self.call(*inputs)) for _ in range(self.draw(st.integers(1, 3))))

    def call(self, *inputs: Input) -> Value:
        """An aggregate; sums of what is not exact are none that the product would maintain."""
        function = self.one(
            "count(*)",
            "sum",
            "count",
            "avg",
            "sum({0}) + count({0})",
            "sum",
            "count",
            "min",
            "max",
            "bit_or",
            "bit_and",
        )
        around = self.one("", "", "", "", "DISTINCT ", f" FILTER (WHERE {self._atom(*inputs)})")
        where = around if around.startswith(" ") and "{" not in function else ""
        if function == "count(*)":
            return Value(function + where, INT)
        summed = function not in ("count", "min", "max")
        kinds = (INT,) if function.startswith("bit_") else (INT, DEC)
        value = self.value(*inputs, kinds=kinds) if summed else self.value(*inputs)
        if value is None:
            return Value("count(*)", INT)
        kind = {"count": INT, "avg": REAL}.get(function, value.kind)
        of = f"({'DISTINCT ' if around == 'DISTINCT ' else ''}{value.sql}){where}" if "{" not in function else ""
        return Value(function.format(value.sql) if "{" in function else f"{function}{of}", kind)

    def over(self, *inputs: Input) -> str:
        """What does not depend on the order of rows that ORDER BY takes for equal."""
        by = ", ".join(self.known(*inputs).sql for _ in range(self.draw(st.integers(1, 2))))
        order = f" ORDER BY {self.known(*inputs).sql}{self.one('', ' DESC')}"
        if self.one("rank", "aggregate") == "rank":
            call = Value(f"{self.one('rank', 'dense_rank')}()", INT)
        else:
            function = self.one("sum", "count", "min", "max")
            value = self.value(*inputs, kinds=(INT, DEC)) or Value("1", INT)
            call = Value(f"{function}({value.sql})", INT if function == "count" else value.kind)
            order = self.one("", order)
        return self.show(Value(f"{call.sql} OVER (PARTITION BY {by}{order})", call.kind))

    def numbers(self, x: Input) -> str:
        """Of one type."""
        found = [f"CAST({c.sql} AS BIGINT)" for c in (self.known(x, kinds=(INT,)), self.known(x, kinds=(INT,)))]
        return ", ".join(found[: self.draw(st.integers(1, 2))])

    def pivoted(self, x: Input) -> str:
        """Of numbers; a count of nothing is NULL to Spark, and 0 to others."""
        by, of = self.known(x, kinds=(INT, TEXT)), self.known(x, kinds=(INT, DEC))
        key, (first, second) = self.known(x), CONSTANTS[by.kind][:2]
        shown = map(self.show, (Value("k", key.kind), Value("one", of.kind), Value("two", of.kind)))
        rows = f"SELECT {key.sql} AS k, {by.sql} AS p, {of.sql} AS v FROM {x}"
        call = self.one("sum", "min", "max")
        return f"SELECT {', '.join(shown)} FROM ({rows}) PIVOT ({call}(v) FOR p IN ({first} AS one, {second} AS two))"

    def unpivoted(self, x: Input) -> str:
        key, (one, two) = self.known(x), (self.known(x, kinds=(INT,)) for _ in range(2))
        shown = map(self.show, (Value("k", key.kind), Value("n", TEXT), Value("v", INT)))
        rows = f"SELECT {key.sql} AS k, CAST({one.sql} AS BIGINT) AS x, CAST({two.sql} AS BIGINT) AS y FROM {x}"
        kept = self.one("", "INCLUDE NULLS ")
        return f"SELECT {', '.join(shown)} FROM ({rows}) UNPIVOT {kept}(v FOR n IN (x, y AS z))"

    def met(self, x: Input, y: Input) -> str:
        """An equality and more, since a recursion joins again and again."""
        mine = self.plain(x)
        theirs = self.plain(y, kinds=NUMBERS if mine is not None and mine.kind in NUMBERS else [TEXT])
        equal = f"{mine.sql} = {theirs.sql}" if mine is not None and theirs is not None else "false"
        return self.one(equal, f"{equal} AND ({self.condition(x, y)})")

    def begun(self, x: Input) -> str:
        """The base of a recursion, of types that its step can keep: a number, a text, and how often it was repeated."""
        number, text = self.known(x, kinds=(INT,)), self.known(x, kinds=(TEXT,))
        values = (f"CAST({number.sql} AS BIGINT)", f"CAST({text.sql} AS STRING)", "0")
        return ", ".join(self.show(Value(sql, kind)) for sql, kind in zip(values, (INT, TEXT, INT), strict=True))

    def repeated(self, w: Input, *others: Input) -> str:
        """What the step makes of the recursion's rows."""
        number, text = self.known(*others, w, kinds=(INT,)), self.known(*others, w, kinds=(TEXT,))
        return f"CAST({number.sql} AS BIGINT), CAST({text.sql} AS STRING), {w.alias}.c + 1"

    def value_of(self, x: Input, y: Input) -> Value:
        """A scalar subquery: over the rows of the other input whose column is equal to one of this, or over all."""
        function = self.one("count", "sum", "min", "max", "coalesce(max({0}), 0)")
        value = self.value(y, kinds=(INT,)) or Value("1", INT)
        call = function.format(value.sql) if "{" in function else f"{function}({value.sql})"
        mine = self.plain(x)
        theirs = self.plain(y, kinds=NUMBERS if mine is not None and mine.kind in NUMBERS else [TEXT])
        joined = f"{theirs.sql} = {mine.sql}" if mine is not None and theirs is not None else "true"
        where = f"{self.one(joined, joined, 'true')} AND ({self.condition(y)})"
        return Value(f"(SELECT {call} FROM {y} WHERE {where})", INT)

    def beside(self, x: Input, y: Input) -> str:
        """Two values of the rows of the other input whose column is equal to one of this, or of all; and FROM."""
        calls = [self.known(y, kinds=(INT,)), self.known(y)]
        mine = self.plain(x)
        theirs = self.plain(y, kinds=NUMBERS if mine is not None and mine.kind in NUMBERS else [TEXT])
        joined = f"{theirs.sql} = {mine.sql}" if mine is not None and theirs is not None else "true"
        shown = ", ".join(map(self.show, (Value("l.n", INT), Value("l.m", calls[1].kind))))
        rows = f"SELECT count({calls[0].sql}) AS n, max({calls[1].sql}) AS m FROM {y} WHERE {joined}"
        return f"{shown} FROM {x} {self.one('CROSS', 'LEFT')} JOIN LATERAL ({rows} AND ({self.condition(y)})) AS l"

    def plain(self, x: Input, kinds: Sequence[str] = (INT, TEXT, DEC, REAL)) -> Value | None:
        found = [Value(f"{x.alias}.{c.sql}", c.kind) for c in x.columns if c.kind in kinds]
        return found[self.draw(st.integers(0, len(found) - 1))] if found else None

    def looked_up(self, x: Input, y: Input) -> str:
        return self.show(self.value_of(x, y))

    def compared(self, x: Input, y: Input) -> str:
        value = self.value(x, kinds=NUMBERS) or Value("1", INT)
        return f"{value.sql} {self.one('=', '<', '>=')} {self.value_of(x, y).sql}"

    def positions(self) -> str:
        """By all columns shown: rows that are still equal are alike."""
        return ", ".join(f"{at + 1}{self.one('', ' DESC')}" for at in range(len(self.columns)))

    def numbered(self, x: Input) -> str:
        """By all columns: rows that are still equal are alike."""
        order = ", ".join(f"{x.alias}.{column.sql}{self.one('', ' DESC')}" for column in x.columns)
        return f"row_number() OVER (PARTITION BY {x.alias}.{self.one(*(c.sql for c in x.columns))} ORDER BY {order})"

    def of_calls(self, *inputs: Input) -> str:
        call = self.call(*inputs)
        return f"{call.sql} {self.one('>', '<=', '<>')} {CONSTANTS[call.kind][0]}"


OPERATORS: dict[str, Callable[..., str]] = {
    "filter": lambda q, x: f"SELECT {q.all(x)} FROM {x} WHERE {q.condition(x)}",
    "project": lambda q, x: f"SELECT {q.some(x)} FROM {x}",
    "join": lambda q, x, y: f"SELECT {q.some(x, y)} FROM {x} JOIN {y} ON {q.condition(x, y)}",
    "join using": lambda q, x, y: f"SELECT {q.some(x, y)} FROM {x} JOIN {y} {q.using(x, y)}",
    "outer join": lambda q, x, y: (
        f"SELECT {q.some(x, y)} FROM {x} {q.one('LEFT', 'RIGHT', 'FULL OUTER')} JOIN {y} ON {q.condition(x, y)}"
    ),
    "outer join using": lambda q, x, y: (
        f"SELECT {q.some(x, y)} FROM {x} {q.one('LEFT', 'RIGHT', 'FULL')} JOIN {y} {q.using(x, y)}"
    ),
    "semi join": lambda q, x, y: (
        f"SELECT {q.some(x)} FROM {x} LEFT {q.one('SEMI', 'ANTI')} JOIN {y} ON {q.condition(x, y)}"
    ),
    "exists": lambda q, x, y: (
        f"SELECT {q.all(x)} FROM {x} WHERE {q.one('', 'NOT ')}EXISTS (SELECT 1 FROM {y} WHERE {q.condition(x, y)})"
    ),
    "in": lambda q, x, y: (
        f"SELECT {q.all(x)} FROM {x} WHERE ({q.condition(x)}) AND {q.member(x, y)} FROM {y} WHERE {q.condition(y)})"
    ),
    "exists or": lambda q, x, y: (
        f"SELECT {q.all(x)} FROM {x} WHERE {q.condition(x)} OR {q.one('', 'NOT ')}EXISTS "
        f"(SELECT 1 FROM {y} WHERE {q.condition(x, y)})"
    ),
    "in, shown": lambda q, x, y: f"SELECT {q.all(x)}, {q.show(q.membership(x, y))} FROM {x}",
    "cross join": lambda q, x, y: f"SELECT {q.some(x, y)} FROM {x}, {y}",
    "three-way join": lambda q, x, y, z: (
        f"SELECT {q.some(x, y, z)} FROM {x} JOIN {y} ON {q.condition(x, y)} JOIN {z} ON {q.condition(y, z)}"
    ),
    "CTE joined to itself": lambda q, x: (
        f"WITH q AS (SELECT * FROM {x}) SELECT {q.some(p(x, 'q1'), p(x, 'q2'))} FROM q AS q1 JOIN q AS q2 "
        f"ON {q.condition(p(x, 'q1'), p(x, 'q2'))}"
    ),
    "groups": lambda q, x: f"SELECT {q.keys(x)}, {q.calls(x)} FROM {x} GROUP BY {q.by}",
    "groups, keys hidden": lambda q, x: f"SELECT {q.calls(x)} FROM {x} GROUP BY {q.hidden(x)}",
    "whole": lambda q, x: f"SELECT {q.calls(x)} FROM {x}",
    "having": lambda q, x: f"SELECT {q.keys(x)}, {q.calls(x)} FROM {x} GROUP BY {q.by} HAVING {q.of_calls(x)}",
    "distinct": lambda q, x: f"SELECT DISTINCT {q.some(x)} FROM {x}",
    "union all": lambda q, x, y: f"SELECT {q.some(x)} FROM {x} UNION ALL SELECT {q.alike(y)} FROM {y}",
    "values": lambda q, x: f"SELECT {q.some(x)} FROM {x} UNION ALL SELECT * FROM (VALUES {q.rows()}) AS v",
    "union": lambda q, x, y: f"SELECT {q.some(x)} FROM {x} UNION SELECT {q.alike(y)} FROM {y}",
    "intersect": lambda q, x, y: (
        f"SELECT {q.some(x)} FROM {x} INTERSECT{q.one('', ' ALL')} SELECT {q.alike(y)} FROM {y}"
    ),
    "except": lambda q, x, y: f"SELECT {q.some(x)} FROM {x} EXCEPT{q.one('', ' ALL')} SELECT {q.alike(y)} FROM {y}",
    "generate": lambda q, x: (
        f"SELECT {q.all(x)}, {q.show(Value('v.g', INT))} FROM {x} LATERAL VIEW explode(array({q.numbers(x)})) v AS g"
    ),
    "lookup": lambda q, x, y: f"SELECT {q.all(x)}, {q.looked_up(x, y)} FROM {x}",
    "lookup in groups": lambda q, x, y: (
        f"SELECT {q.keys(x)}, {q.show(Value(f'max({q.value_of(x, y).sql})', INT))} FROM {x} GROUP BY {q.by}"
    ),
    "lookup in where": lambda q, x, y: f"SELECT {q.some(x)} FROM {x} WHERE {q.compared(x, y)}",
    "lookup in having": lambda q, x, y: (
        f"SELECT {q.keys(x)}, {q.calls(x)} FROM {x} GROUP BY {q.by} "
        f"HAVING count(*) <= (SELECT count(*) FROM {y} WHERE {q.condition(y)})"
    ),
    "lateral": lambda q, x, y: f"SELECT {q.all(x)}, {q.beside(x, y)}",
    "window": lambda q, x: f"SELECT {q.all(x)}, {q.over(x)} FROM {x}",
    "windows": lambda q, x: f"SELECT {q.some(x)}, {q.over(x)}, {q.over(x)} FROM {x}",
    "window over groups": lambda q, x: (
        f"SELECT {q.keys(x)}, {q.calls(x)}, {q.show(Value('sum(count(*)) OVER (PARTITION BY count(*))', INT))} "
        f"FROM {x} GROUP BY {q.by}"
    ),
    "latest": lambda q, x: (
        f"SELECT {q.all(p(x, 'q1'))} FROM (SELECT *, {q.numbered(x)} AS n FROM {x}) AS q1 WHERE n = 1"
    ),
    "pivot": lambda q, x: q.pivoted(x),
    "unpivot": lambda q, x: q.unpivoted(x),
    "recursion": lambda q, x, y: recursive(
        q, x, f"SELECT {q.repeated(W, y)} FROM w AS w1 JOIN {y} ON {q.met(W, y)} WHERE w1.c < 2"
    ),
    "recursion over a join": lambda q, x, y, z: recursive(
        q,
        x,
        f"SELECT {q.repeated(W, y, z)} FROM {y} JOIN {z} ON {q.met(y, z)} JOIN w AS w1 ON {q.met(W, z)} WHERE w1.c < 2",
    ),
    "recursion that asks": lambda q, x, y: recursive(
        q,
        x,
        f"SELECT {q.repeated(W)} FROM w AS w1 WHERE w1.c < 2 AND {q.one('', 'NOT ')}EXISTS "
        f"(SELECT 1 FROM {y} WHERE {q.condition(W, y)})",
    ),
    "recursion by itself": lambda q, x: recursive(
        q,
        x,
        f"SELECT v.g, w1.b, w1.c + 1 FROM w AS w1 LATERAL VIEW explode(array({q.numbers(W)})) v AS g "
        f"WHERE w1.c < 2 AND ({q.condition(W)})",
    ),
    "whole, having": lambda q, x: f"SELECT {q.calls(x)} FROM {x} HAVING {q.of_calls(x)}",
}

# At the top of a query only.
ROOTS: dict[str, Callable[..., str]] = {
    "first": lambda q, x: f"SELECT {q.all(x)} FROM {x} ORDER BY {q.positions()} LIMIT {q.one('1', '2', '3')}",
    "first of groups": lambda q, x: (
        f"SELECT {q.keys(x)}, {q.calls(x)} FROM {x} GROUP BY {q.by} ORDER BY {q.positions()} LIMIT 2"
    ),
}
ALL = {**OPERATORS, **ROOTS}


def p(x: Input, alias: str) -> Input:
    """The columns of an input under another alias."""
    return Input(x.text, alias, x.columns)


# Of a recursion, within its step: the columns of Select.begun().
W = Input("w", "w1", (Value("a", INT), Value("b", TEXT), Value("c", INT)))


def recursive(q: Select, x: Input, step: str) -> str:
    return f"WITH RECURSIVE w AS (SELECT {q.begun(x)} FROM {x} UNION ALL {step}) SELECT a, b, c FROM w"


def arity(operator: str) -> int:
    return len(inspect.signature(ALL[operator]).parameters) - 1


@dataclass
class Aliases:
    """Each is given once in a query, so that they can be renamed."""

    given: int = 0

    def next(self) -> str:
        self.given += 1
        return f"x{self.given}"


def written(draw: st.DrawFn, operator: str, below: Sequence[Query | None], aliases: Aliases) -> Query:
    """The operator over these queries; none stands for a source."""
    inputs = [_input(draw, each, aliases) for each in below]
    select = Select(draw)
    text = ALL[operator](select, *inputs)
    return Query(text, tuple(select.columns), select.key)


def _input(draw: st.DrawFn, query: Query | None, aliases: Aliases) -> Input:
    if query is not None:
        return Input(f"({query.text})", aliases.next(), query.columns)
    table = draw(st.sampled_from(sorted(TABLES)))
    columns = tuple(Value(name, KINDS[kind]) for name, kind in TABLES[table].items())
    return Input(table, aliases.next(), columns)


@st.composite
def of_pair(draw: st.DrawFn, outer: str, inner: str) -> Query:
    """One operator nested in another one; the outer one's other inputs are sources."""
    aliases = Aliases()
    below: list[Query | None] = [None] * arity(outer)
    below[draw(st.integers(0, len(below) - 1))] = written(draw, inner, [None] * arity(inner), aliases)
    return written(draw, outer, below, aliases)


@st.composite
def of_one(draw: st.DrawFn, operator: str) -> Query:
    return written(draw, operator, [None] * arity(operator), Aliases())


@st.composite
def of_depth(draw: st.DrawFn, depth: int, aliases: Aliases | None = None, among: Sequence[str] = ()) -> Query:
    """`among`: what the outermost operator is one of."""
    aliases = aliases or Aliases()
    operator = draw(st.sampled_from(among or list(OPERATORS)))
    deeper = of_depth(depth - 1, aliases) if depth > 1 else st.none()
    below = [draw(deeper) if draw(st.booleans()) else None for _ in range(arity(operator))]
    return written(draw, operator, below, aliases)
