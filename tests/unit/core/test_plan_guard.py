"""When two plans say the same."""

from __future__ import annotations

import pytest
import tree_cases

from dbt_trickle.tree import guard

PLAN = """\
== Parsed Logical Plan ==
whatever

== Optimized Logical Plan ==
Aggregate [region#12], [region#12, sum(amount#13L) AS total#20L]
+- Project [region#12, amount#13L]
   +- Join Inner, (k#11L = k#15L)
      :- Filter (isnotnull(k#11L) AND (amount#13L > 1))
      :  +- Relation spark_catalog.shop.orders[k#11L,region#12,amount#13L] parquet
      +- Relation spark_catalog.shop.customers[k#15L,my name#16] parquet

== Physical Plan ==
AdaptiveSparkPlan isFinalPlan=false
"""


def changed(*pairs: tuple[str, str]) -> str:
    plan = PLAN
    for old, new in pairs:
        assert old in plan
        plan = plan.replace(old, new)
    return plan


SAME = {
    "other ids": [("#1", "#4"), ("#20", "#9")],
    "names of ours": [("AS total#20L", "AS sum_1#20L"), ("[region#12, sum", "[o.region#12, sum")],
    "a cross join with a condition": [("Join Inner, (", "Join Cross, (")],
    "a hint": [("= k#15L)", "= k#15L), rightHint=(strategy=broadcast)")],
    "a column called something else": [
        ("Project [region#12, amount#13L]", "Project [region#12 AS r#70, amount#13L AS a#71L]"),
        ("Aggregate [region#12], [region#12, sum(amount#13L)", "Aggregate [r#70], [r#70 AS x#80, sum(a#71L)"),
    ],
    "a Project that changes nothing": [
        ("      +- Relation spark", "      +- Project [k#15L, my name#16 AS n#77]\n         +- Relation spark"),
    ],
    "another order below": [("Project [region#12, amount#13L]", "Project [amount#13L, region#12]")],
    "a column passed on twice": [
        ("Project [region#12, amount#13L]", "Project [region#12, amount#13L AS a#71L, amount#13L]"),
    ],
    "a column grouped by twice": [("Aggregate [region#12], ", "Aggregate [region#12, region#12], ")],
    "other physical plans": [("isFinalPlan=false", "isFinalPlan=true")],
}
OTHER = {
    "another column": [("sum(amount#13L)", "sum(k#11L)")],
    "another function": [("sum(amount#13L)", "sum(DISTINCT amount#13L)")],
    "a column shown twice": [("sum(amount#13L) AS total#20L]", "sum(amount#13L) AS total#20L, region#12]")],
    "a sign": [("sum(amount#13L)", "sum(-amount#13L)")],
    "a constant": [("> 1)", "> 2)")],
    "another relation": [("shop.customers", "shop.others")],
    "another column of the source": [("customers[k#15L,my name#16]", "customers[my name#15L,k#16]")],
    "a step less": [("+- Project [region#12, amount#13L]\n", "")],
    "another join": [("Join Inner", "Join LeftOuter")],
    "another type": [("AS total#20L", "AS total#20")],
    "a join of everything": [("Join Inner, (k#11L = k#15L)", "Join Cross")],
    "another order": [("[region#12, sum(amount#13L) AS total#20L]", "[sum(amount#13L) AS total#20L, region#12]")],
    "one column for another": [("[region#12, sum", "[k#11L AS region#12, sum")],
    "a relation with the ids of the other": [("customers[k#15L", "customers[k#11L")],
}


@pytest.mark.parametrize("edits", SAME.values(), ids=SAME)
def test_the_same(edits: list[tuple[str, str]]) -> None:
    assert guard.difference(PLAN, changed(*edits)) is None


@pytest.mark.parametrize("edits", OTHER.values(), ids=OTHER)
def test_not_the_same(edits: list[tuple[str, str]]) -> None:
    assert not guard.same_plan(PLAN, changed(*edits))


def test_names_with_spaces() -> None:
    plain = "Project [k#1L, my name#2 AS the name#3]\n+- Relation shop.customers[k#1L,my name#2] parquet"
    ours = "Project [k#1L, my name#2 AS c.my name#5]\n+- Relation shop.customers[k#1L,my name#2] parquet"
    assert guard.same_plan(plain, ours)
    assert not guard.same_plan(plain, ours.replace("my name#2 AS", "k#1L AS"))


@pytest.mark.parametrize("cut", ["...", "... 12 more fields", "... 3 more characters", "Truncated"])
def test_a_plan_that_is_cut_agrees_with_none(cut: str) -> None:
    plan = changed(("amount#13L > 1", cut))
    assert not guard.same_plan(plan, plan)


def test_rows_that_are_not_shown_agree_with_none() -> None:
    assert not guard.same_plan("LocalRelation [count(1)#0L]", "LocalRelation [count(1)#0L]")
    assert guard.same_plan("LocalRelation <empty>, [n#0L]", "LocalRelation <empty>, [m#1L]")


VALUES = """== Parsed Logical Plan ==
'Project [*]
+- 'SubqueryAlias v
   +- 'UnresolvedInlineTable [x, y], [[1, a], [2, b]]

== Optimized Logical Plan ==
LocalRelation [x#1, y#2]
"""


def test_rows_that_were_read_alike_are_the_same() -> None:
    assert guard.same_plan(VALUES, VALUES.replace("[x, y], ", "[q, r], "))
    assert not guard.same_plan(VALUES, VALUES.replace("[2, b]", "[2, c]"))
    twice = VALUES + "+- LocalRelation [n#3]\n"
    assert not guard.same_plan(twice, twice)


def test_no_plan_agrees_with_none() -> None:
    assert not guard.same_plan("", "")


def test_the_query_is_regenerated_from_its_tree_with_the_placeholders() -> None:
    text = "select region, sum(amount) from o where amount > 1 group by 1"
    assert guard.regenerated(text, tree_cases.SOURCES) == (
        "SELECT `orders`.`region` AS `region`, sum(`orders`.`amount`) AS `sum_1`\n"
        "FROM `o` AS `orders`\n"
        "WHERE `orders`.`amount` > 1\n"
        "GROUP BY `orders`.`region`"
    )


ORDERS = "Relation shop.orders[k#1L,region#2,amount#3L] parquet"
CUSTOMERS = "Relation shop.customers[k#4L,name#5] parquet"


def stacked(*lines: str) -> str:
    return "\n".join(lines)


@pytest.mark.parametrize("kind", ["LeftSemi", "LeftAnti"])
def test_spark_may_copy_what_a_semi_join_compares_with(kind: str) -> None:
    semi = (f":- {ORDERS}", f"+- {CUSTOMERS}")
    twice = stacked(
        "Project [region#2]",
        "+- Join Inner, (k#1L = k#7L)",
        *(f"   {line}" for line in (f":- Join {kind}, (k#1L = k#4L)", *(f":  {line}" for line in semi))),
        f"   +- Join {kind}, (k#7L = k#4L)",
        "      :- Relation shop.more[k#7L] parquet",
        f"      +- {CUSTOMERS}",
    )
    assert guard.same_plan(twice, twice)
    inner = twice.replace(f"Join {kind}", "Join Inner")
    assert not guard.same_plan(inner, inner)


def test_a_copy_of_groups_may_call_their_key_something_else() -> None:
    groups = ("Aggregate [k#4L], [k#4L, sum(a#5) AS s#6]", "+- Relation shop.c[k#4L,a#5] parquet")
    plan = stacked(
        "Project [region#2]",
        "+- Join Inner, (k#1L = k#7L)",
        "   :- Join LeftSemi, (k#1L = k#4L)",
        f"   :  :- {ORDERS}",
        f"   :  +- {groups[0]}",
        f"   :     {groups[1]}",
        "   +- Join LeftSemi, (k#7L = k#4L)",
        "      :- Relation shop.more[k#7L] parquet",
        f"      +- {groups[0]}",
        f"         {groups[1]}",
    )
    assert guard.same_plan(plan, plan.replace("= k#4L)", "= v#9L)").replace("[k#4L, sum", "[k#4L AS v#9L, sum"))


OUTER_TWICE = (
    "Project [k#1L, n#7L]",
    "+- Join Inner, (cid#9L <=> cid#2L)",
    "   :- Relation shop.o[k#1L,cid#2L] parquet",
    "   +- Project [n#7L, cid#9L]",
    "      +- Join LeftOuter, (cid#3L = cid#9L)",
    "         :- Aggregate [cid#2L], [cid#2L AS cid#9L]",
    "         :  +- Relation shop.o[k#1L,cid#2L] parquet",
    "         +- Aggregate [cid#3L], [count(1) AS n#7L, cid#3L]",
    "            +- Relation shop.c[cid#3L] parquet",
)


def test_spark_may_copy_what_lateral_reads_as_long_as_nothing_above_names_the_copy() -> None:
    plan = stacked(*OUTER_TWICE)
    assert guard.same_plan(plan, plan)
    named = stacked(*(line.replace("Project [n#7L, cid#9L]", "Project [n#7L, cid#9L, cid#2L]") for line in OUTER_TWICE))
    assert not guard.same_plan(named, named)


@pytest.mark.parametrize(
    "above", ["Join LeftOuter, (k#1L = k#4L)", "Join FullOuter, (k#1L = k#4L)", "Join LeftAnti, (k#1L = k#4L)"]
)
def test_below_a_join_columns_are_in_nobodys_order_where_a_list_above_names_them(above: str) -> None:
    left = ("   :- Project [k#1L, region#2]", f"   :  +- {ORDERS}")
    plan = stacked("Project [region#2]", f"+- {above}", *left, f"   +- {CUSTOMERS}")
    other = plan.replace("[k#1L, region#2]", "[region#2, k#1L]")
    assert guard.same_plan(plan, other)
    # At the top they are the result's.
    top = [text.replace("Project [region#2]\n+- ", "").replace("\n   ", "\n") for text in (plan, other)]
    assert not guard.same_plan(*top)


def test_below_a_window_as_well_but_not_below_a_union() -> None:
    window = "Window [rank(k#1L) windowspecdefinition(region#2, k#1L ASC) AS place#9], [region#2], [k#1L ASC]"
    plan = stacked("Project [place#9]", f"+- {window}", "   +- Project [k#1L, region#2]", f"      +- {ORDERS}")
    other = plan.replace("Project [k#1L, region#2]", "Project [region#2, k#1L]")
    assert guard.same_plan(plan, other)
    assert not guard.same_plan(plan.replace(window, "Union"), other.replace(window, "Union"))
    turned = plan.replace("Project [k#1L, region#2]", "Project [amount#3L, region#2, k#1L]")
    without = stacked("Project [place#9]", f"+- {window}", f"   +- {ORDERS}")
    assert guard.same_plan(turned, without)
    assert not guard.same_plan(turned.replace(window, "Union"), without.replace(window, "Union"))
    assert not guard.same_plan(plan, without)  # that is another set of columns


def test_a_branch_of_a_union_has_ids_of_its_own() -> None:
    again = (
        "Union false, false\n"
        ":- Project [k#1L]\n:  +- Relation o[k#1L,n#2L] parquet\n"
        "+- Project [n#2L]\n   +- Relation o[k#1L,n#2L] parquet"
    )
    apart = again.replace("n#2L]\n   +- Relation o[k#1L,n#2L]", "n#4L]\n   +- Relation o[k#3L,n#4L]")
    assert guard.same_plan(again, apart)
    assert not guard.same_plan(again, apart.replace("Project [n#4L]", "Project [k#3L]"))
    joined = again.replace("Union false, false", "Join Inner, (k#1L = n#2L)")
    assert not guard.same_plan(joined, apart.replace("Union false, false", "Join Inner, (k#1L = n#4L)"))


def test_what_both_branches_of_a_union_call_alike_is_that_of_the_first() -> None:
    of = "Aggregate [{0}], [{0}, sum({1}) AS s#9L]\n+- Union false, false\n"
    branches = (
        "   :- Project [a#1L AS x#5L, b#2L AS y#6L]\n   :  +- Relation s.o[a#1L,b#2L] parquet\n"
        "   +- Project [a#3L AS x#5L, b#4L AS y#6L]\n      +- Relation s.o[a#3L,b#4L] parquet"
    )
    assert not guard.same_plan(of.format("x#5L", "y#6L") + branches, of.format("y#6L", "x#5L") + branches)
    assert guard.same_plan(of.format("x#5L", "y#6L") + branches, of.format("x#5L", "y#6L") + branches)


def test_at_the_top_and_below_a_union_a_column_may_not_be_passed_on_twice() -> None:
    relation = "Relation spark_catalog.shop.o[k#1L,v#2L] parquet"
    for above in ("", "Union false, false\n:- "):
        below = "+- " if not above else ":  +- "
        plans = [f"{above}Project [k#1L{more}]\n{below}{relation}" for more in (", v#2L", ", v#2L, k#1L")]
        other = f"\n+- {relation}" if above else ""
        one, two = (f"== Optimized Logical Plan ==\n{plan}{other}\n" for plan in plans)
        assert guard.difference(one, two) is not None


def test_a_list_below_may_have_another_order_whatever_it_computes() -> None:
    """The latest row of each key: Spark works the partition out below the window, beside what the query shows."""

    def plan(listed: str, made: str = "upper(region#2) AS _w0#7") -> str:
        window = "Window [row_number() windowspecdefinition(_w0#7, k#1L ASC) AS n#8], [_w0#7], [k#1L ASC]"
        below = f"   +- Project [{listed}]".replace("{made}", made)
        return stacked("Project [region#2, n#8]", f"+- {window}", below, f"      +- {ORDERS}")

    assert guard.same_plan(plan("region#2, {made}, k#1L"), plan("k#1L, region#2, {made}"))
    assert not guard.same_plan(plan("region#2, {made}, k#1L"), plan("k#1L, region#2, {made}", "upper(k#1L) AS _w0#7"))
    other = plan("region#2, {made}, k#1L").replace("Project [region#2, n#8]", "Project [n#8, region#2]")
    assert not guard.same_plan(plan("region#2, {made}, k#1L"), other), "at the top it is the result's"


def test_a_generators_alias_is_no_part_of_its_meaning() -> None:
    view = stacked("Generate explode(array(k#1L)), [0], true, e, [n#8L]", f"+- {ORDERS}")
    ours = view.replace(", e, [n#8L]", ", q1, [g#9L]")
    assert guard.same_plan(view, ours)
    listed = stacked("Project [region#2, amount#3L, n#8L]", f"+- {view.splitlines()[0]}", f"   +- {ORDERS}")
    assert guard.same_plan(view, listed)
    assert not guard.same_plan(view, ours.replace("true", "false"))
    assert not guard.same_plan(view, ours.replace("[0]", "[1]"))
    assert not guard.same_plan(view, ours.replace("array(k#1L)", "array(amount#3L)"))


def test_the_plans_of_subqueries_are_compared() -> None:
    """Spark prints them two levels further right, before what the node reads."""
    plan = stacked(
        "Filter ((k#1L > scalar-subquery#20 []) AND (k#1L < scalar-subquery#21 []))",
        ":  :- Aggregate [max(k#4L) AS m#22L]",
        f":  :  +- {CUSTOMERS}",
        ":  +- Aggregate [min(k#14L) AS n#23L]",
        ":     +- Relation shop.customers[k#14L,name#15] parquet",
        f"+- {ORDERS}",
    )
    assert guard.same_plan(plan, plan.replace("#22L", "#99L"))
    assert not guard.same_plan(plan, plan.replace("max(", "avg("))
    assert not guard.same_plan(plan, plan.replace("min(", "avg("))
    assert not guard.same_plan(plan, plan.replace("shop.customers[k#14L", "shop.others[k#14L"))


def test_a_plan_that_is_printed_otherwise_agrees_with_none() -> None:
    plan = stacked("Filter (k#1L > 1)", f"         +- {ORDERS}")
    assert not guard.same_plan(plan, plan)


LOOP = """\
== Optimized Logical Plan ==
Project [k#11L AS n#21L, 0#12 AS d#22]
+- UnionLoop 0
   :- Project [k#1L, 0 AS 0#2]
   :  +- Relation shop.o[k#1L,v#3L] parquet
   +- Project [v#5L, (d#16 + 1) AS (d + 1)#17]
      +- Join Inner, (k#4L = n#15L)
         :- Project [k#13L AS n#15L, 0#14 AS d#16]
         :  +- Filter isnotnull(k#13L)
         :     +- UnionLoopRef 0, [k#13L, 0#14], false
         +- Relation shop.e[k#4L,v#5L] parquet

== Physical Plan ==
Project [k#11L AS n#21L, 0#12 AS d#22]
+- UnionLoop 0, [k#11L, 0#12]
      :- Project [k#1L, 0 AS 0#2]
"""


@pytest.mark.parametrize(
    ("edits", "same"),
    {
        "other ids": ([("#1", "#7"), ("#2", "#9")], True),
        "another number": ([("Loop 0", "Loop 3"), ("LoopRef 0", "LoopRef 3")], True),
        "names of ours": ([("0#12", "r.d + `x, y`#12"), ("0#14", "r.d + `x, y`#14"), ("k#11L", "n#11L")], True),
        "its columns the other way round": ([("UnionLoop 0, [k#11L, 0#12]", "UnionLoop 0, [0#12, k#11L]")], False),
        "the rows so far the other way round": ([("[k#13L, 0#14]", "[0#14, k#13L]")], False),
        "another base": ([("0 AS 0#2", "1 AS 0#2")], False),
        "another step": ([("(d#16 + 1)", "(d#16 + 2)")], False),
        "columns that are not shown": ([("UnionLoop 0, [k#11L, 0#12]", "UnionLoop 1, [k#11L, 0#12]")], False),
        "a limit": ([("+- UnionLoop 0\n   :-", "+- UnionLoop 0, 5\n   :-")], False),
        "the rows of another recursion": ([("UnionLoopRef 0", "UnionLoopRef 1")], False),
    }.values(),
)
def test_recursions(edits: list[tuple[str, str]], same: bool) -> None:
    plan = LOOP
    for old, new in edits:
        assert old in plan
        plan = plan.replace(old, new)
    assert guard.same_plan(LOOP, plan) == same


def test_a_recursion_that_is_read_twice_is_there_twice() -> None:
    loop = LOOP.partition("+- ")[2].partition("\n\n")[0]
    ours = loop.replace("Loop 0", "Loop 1").replace("LoopRef 0", "LoopRef 1")
    first = loop.replace("\n ", "\n:")
    done = "\n== Physical Plan ==\nUnionLoop {}, [k#11L, 0#12]\n"
    one, other = (
        f"== Optimized Logical Plan ==\nUnion false, false\n:- {first}\n+- {second}\n" for second in (loop, ours)
    )
    assert guard.same_plan(one + done.format(0), other + done.format(0) + done.format(1))
    joined = (plan.replace("Union false, false", "Join Inner, (k#11L = k#11L)") for plan in (one, other))
    assert not guard.same_plan(*(plan + done.format(0) + done.format(1) for plan in joined))
