"""Every test of dbt's own suites that is not run, and why: a reason, and what it keeps from running.

A name is one of

    adapter/file.py::class[::test]   a test here, which is collected and skipped
    dbt:package[::class]             a class of dbt.tests.adapter that is not run at all
    stream:package[::class]          one that is not run over stream tables

test_skips.py finds what is neither run nor named.
"""

SKIPS = {
    "GRANT and REVOKE need an authorisation plugin; the Spark that Apache publishes has none.": (
        "adapter/test_grants.py::TestModelGrants",
        "adapter/test_grants.py::TestIncrementalGrants",
        "adapter/test_grants.py::TestSeedGrants",
        "adapter/test_grants.py::TestSnapshotGrants",
        "adapter/test_grants.py::TestInvalidGrants",
        "stream:grants",
    ),
    "Spark creates materialized views inside of declarative pipelines only.": (
        "adapter/test_relations.py::TestSimpleCopy::test_simple_copy_with_materialized_views",
        "dbt:materialized_view",
    ),
    "dbt-spark's columns take int for no integer and decimal(10,0) for no number; packages know them so.": (
        "adapter/test_relations.py::TestColumnTypes",
    ),
    "Spark compares names of columns without case: the column that must not be found is the same one.": (
        "adapter/test_persist_docs.py::TestPersistDocsQuotedDescriptionNotAppliedOnMismatch",
        "stream:persist_docs::BasePersistDocsQuotedDescriptionNotAppliedOnMismatch",
    ),
    "dbt-spark hands a Python model to Databricks, over its API; it runs none on a Spark of one's own.": (
        "dbt:python_model",
    ),
    "dbt-spark leaves sql_header out of CREATE TABLE, and Spark takes no two statements at once.": (
        "dbt:constraints::BaseContractSqlHeader",
        "dbt:constraints::BaseTableContractSqlHeader",
        "dbt:constraints::BaseIncrementalContractSqlHeader",
    ),
    "dbt-spark has no get_catalog_for_single_relation, and none of dbt's commands asks for it.": (
        "dbt:basic::BaseGetCatalogForSingleRelation",
    ),
    "dbt seed --empty comes with a later dbt-core than this project allows.": ("dbt:empty::BaseTestEmptySeedFlag",),
    "Delta drops a column only of a table that older readers refuse, and dbt-spark drops none at all;"
    " test_incremental.py runs the rest of this class.": ("dbt:incremental::BaseIncrementalOnSchemaChange",),
}

# Features that dbt-spark does not have, and other databases' forms of a suite that is run in Spark's form.
NOT_OF_THIS_ADAPTER = {
    "dbt-spark has no macros for functions; dbt's own write their body as AS $$…$$ where Spark wants RETURN.": (
        "dbt:functions",
    ),
    "Postgres' names of types; TestColumnTypes has Spark's.": ("dbt:column_types::BasePostgresColumnTypes",),
    "Postgres' user, password and database name in the profile; TestDebug runs what is left.": (
        "dbt:dbt_debug::BaseDebugPostgres",
    ),
    "Postgres' own run of a suite that is run here: its way to clean up, its strategy delete+insert.": (
        "dbt:dbt_clone::TestPostgresCloneNotPossible",
        "dbt:incremental::TestPredicatesDeleteInsert",
    ),
    "Either this one or its twin is an adapter's: Spark escapes by a backslash, and its timestamps have no zone.": (
        "dbt:utils::BaseEscapeSingleQuotesQuote",
        "dbt:utils::BaseCurrentTimestampAware",
    ),
}

# The packages whose suites are run once more with `+materialized: stream_table`, …
OVER_STREAM_TABLES = (
    "aliases basic catalog constraints empty grants hooks persist_docs relations sample_mode unit_testing".split()
)
# … and what of them has no table or view in it that could be one.
NOT_OF_STREAM_TABLES = {
    "Connections, seeds, snapshots and runs, not models.": (
        "stream:basic::BaseEmpty",
        "stream:basic::BaseSnapshotCheckCols",
        "stream:basic::BaseSnapshotTimestamp",
        "stream:basic::BaseValidateConnection",
        "stream:hooks::BasePrePostModelHooksOnSeeds",
        "stream:hooks::BaseHooksRefsOnSeeds",
        "stream:hooks::BasePrePostModelHooksOnSeedsPlusPrefixed",
        "stream:hooks::BasePrePostModelHooksOnSeedsPlusPrefixedWhitespace",
        "stream:hooks::BasePrePostModelHooksOnSnapshots",
        "stream:hooks::BasePrePostSnapshotHooksInConfigKwargs",
        "stream:hooks::BasePrePostRunHooks",
        "stream:hooks::BaseAfterRunHooks",
    ),
    "An incremental model says by itself what changed; a stream table finds out.": (
        "stream:basic::BaseIncremental",
        "stream:basic::BaseIncrementalNotSchemaChange",
        "stream:basic::BaseIncrementalBadStrategy",
        "stream:constraints::BaseIncrementalConstraintsColumnsEqual",
        "stream:constraints::BaseIncrementalConstraintsRuntimeDdlEnforcement",
        "stream:constraints::BaseIncrementalConstraintsRollback",
        "stream:constraints::BaseIncrementalForeignKeyConstraint",
    ),
    "Views; as stream tables they are the suite for tables once more.": (
        "stream:constraints::BaseViewConstraintsColumnsEqual",
    ),
}
