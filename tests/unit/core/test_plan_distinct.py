"""Plans of several DISTINCT aggregates: Spark numbers the copies of a row in no order that one could rely on."""

from __future__ import annotations

from dbt_trickle.tree import guard

PLAN = """\
== Optimized Logical Plan ==
Aggregate [region#10], [region#10, count(o.cid#19L) FILTER (WHERE (gid#17 = 2)) AS n#4L, \
sum(o.amount#18) FILTER (WHERE (gid#17 = 1)) AS total#5L, first(max(o.x)#38, true) FILTER (WHERE (gid#17 = 0)) AS m#33]
+- Aggregate [region#10, o.amount#18, o.cid#19L, gid#17], [region#10, o.amount#18, o.cid#19L, gid#17, \
max(o.x#37) AS max(o.x)#38]
   +- Expand [[region#10, null, null, 0, x#13], [region#10, amount#12, null, 1, null], \
[region#10, null, cid#11L, 2, null]], [region#10, o.amount#18, o.cid#19L, gid#17, o.x#37]
      +- Relation shop.o[region#10,cid#11L,amount#12,x#13] parquet
"""
OTHER_WAY_ROUND = """\
== Optimized Logical Plan ==
Aggregate [region#110], [region#110, count(o.cid#119L) FILTER (WHERE (gid#117 = 1)) AS n#104L, \
sum(o.amount#118) FILTER (WHERE (gid#117 = 2)) AS total#105L, \
first(max(o.x)#138, true) FILTER (WHERE (gid#117 = 0)) AS m#133]
+- Aggregate [region#110, o.cid#119L, o.amount#118, gid#117], [region#110, o.cid#119L, o.amount#118, gid#117, \
max(o.x#137) AS max(o.x)#138]
   +- Expand [[region#110, null, null, 0, x#113], [region#110, cid#111L, null, 1, null], \
[region#110, null, amount#112, 2, null]], [region#110, o.cid#119L, o.amount#118, gid#117, o.x#137]
      +- Relation shop.o[region#110,cid#111L,amount#112,x#113] parquet
"""


def test_the_copies_may_be_numbered_either_way() -> None:
    assert guard.difference(PLAN, OTHER_WAY_ROUND) is None
    assert guard.difference(OTHER_WAY_ROUND, PLAN) is None


def test_what_is_counted_is_not_what_is_summed() -> None:
    turned = PLAN.replace("(gid#17 = 2)", "(gid#17 = 9)").replace("(gid#17 = 1)", "(gid#17 = 2)")
    turned = turned.replace("(gid#17 = 9)", "(gid#17 = 1)")
    assert guard.difference(PLAN, turned) is not None


def test_a_copy_of_another_column_is_another() -> None:
    assert guard.difference(PLAN, PLAN.replace("cid#11L, 2", "amount#12, 2")) is not None
    assert guard.difference(PLAN, PLAN.replace("cid#11L, 2, null]]", "cid#11L, 2, x#13]]")) is not None


def test_a_plan_of_another_form_is_left_as_it_is() -> None:
    for old, new in (("0, x#13]", "0]"), ("2, null]]", "1, null]]")):
        odd = PLAN.replace(old, new)
        assert odd != PLAN
        assert guard.difference(odd, odd) is None
        assert guard.difference(odd, PLAN) is not None
