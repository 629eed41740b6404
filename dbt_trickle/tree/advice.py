"""What to write instead of a construct that is not maintained: beside its reason, where that is an error."""

from __future__ import annotations

# Words of a reason, and what helps. The first one that is found counts, so what is narrower comes first.
ADVICE = (
    ("LIMIT without ORDER BY", "Say by ORDER BY which rows are the first ones."),
    ("LIMIT with an ORDER BY of something", "Show what is ordered by, or order by columns of the result."),
    ("OFFSET", "Number the rows, and filter them: row_number() OVER (PARTITION BY … ORDER BY …)."),
    ("LIMIT", "Number the rows, and filter them: row_number() OVER (PARTITION BY … ORDER BY …) <= n."),
    ("TABLESAMPLE", "Take a part of the rows by what they hold, such as WHERE pmod(hash(id), 10) = 0."),
    (
        "a window without PARTITION BY",
        "Name a PARTITION BY: only the partitions that a change touches are computed then.",
    ),
    (
        "aggregated without GROUP BY",
        "Aggregate by some key in one stream table, and that one in another; sums of decimals and counts need no key.",
    ),
    ("DISTINCT ON", "Number the rows of each key by row_number(), and take the first ones."),
    ("QUALIFY", "Filter in a query around it; Spark 4.1 has no QUALIFY."),
    ("IN with a subquery in this place", "Write EXISTS, or a join with the distinct values of the subquery."),
    ("a correlated scalar subquery", "LEFT JOIN the subquery, grouped by what it is correlated by."),
    ("a scalar subquery correlated by", "LEFT JOIN the subquery on that condition, and group the result."),
    ("EXISTS or IN as a value, in a query with", "Compute one of the two in a CTE around the other."),
    (
        "of a subquery may come out differently",
        "Sum decimals in place of doubles, or order by columns that leave no ties.",
    ),
    ("may be another moment later", "Write the day out."),
    ("time of today", "Write the day out, or compare texts."),
    ("another moment tomorrow", "Use to_timestamp(text, format), cast to DATE, or store a timestamp."),
    ("the function current_", "Compare with it in a dbt test or a view; a stream table is a function of its sources."),
    ("keeps no history", "Make the source a Delta table."),
    ("the query is nested too deeply", "Divide it into several stream tables."),
    ("a difference is made of", "Divide it into several stream tables."),
    ("a difference of it would read", "Divide it into several stream tables, or write each EXISTS as a join."),
    ("is named without its schema", "Write its schema: a bare name may be a temporary view's."),
    ("JOIN LATERAL", "Turn the join round, or use LEFT JOIN: Spark itself has no RIGHT or FULL JOIN with LATERAL."),
    ("FOR UPDATE", "Leave it out: a query locks nothing in Spark."),
    ("a table function", "Read the table itself; rows of arrays come by explode() and the like in a LATERAL VIEW."),
    ("the function xmlagg", "Spark has no XMLAGG: array_join(array_agg(…), '')."),
    ("the function rank", "Spark has no hypothetical-set aggregates: count the rows that come before by count_if()."),
    ("the function dense_rank", "Spark has no hypothetical-set aggregates: count the values that come before."),
    ("the function percent_rank", "Spark has no hypothetical-set aggregates: count the rows that come before."),
    ("the function cume_dist", "Spark has no hypothetical-set aggregates: count the rows that come before."),
    ("the function", "docs/sql-support.md has those that are; what needs another one may be a view over it."),
    ("SORT BY", "Leave it out: a table has no order."),
    ("CLUSTER BY", "Leave it out: a table has no order."),
    ("DISTRIBUTE BY", "Leave it out: a table has no order."),
)


def instead(reason: str) -> str:
    """A sentence, or nothing where nothing is known that would help."""
    return next((advice for words, advice in ADVICE if words in reason), "")
