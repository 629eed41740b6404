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
    "dbt-spark has no macros for functions; dbt's own write their body as AS $$…$$ where Spark wants RETURN.": (
        "dbt:functions",
    ),
    "Postgres' own form of what is run here in Spark's: names of types, user and password in the profile, its way to"
    " clean up, delete+insert, escaping by doubled quotes, timestamps with a zone.": (
        "dbt:column_types::BasePostgresColumnTypes",
        "dbt:dbt_debug::BaseDebugPostgres",
        "dbt:dbt_clone::TestPostgresCloneNotPossible",
        "dbt:incremental::TestPredicatesDeleteInsert",
        "dbt:utils::BaseEscapeSingleQuotesQuote",
        "dbt:utils::BaseCurrentTimestampAware",
    ),
    "Over stream tables: connections, seeds, snapshots and runs, not models.": (
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
    "Over stream tables: an incremental model says by itself what changed; a stream table finds out.": (
        "stream:basic::BaseIncremental",
        "stream:basic::BaseIncrementalNotSchemaChange",
        "stream:basic::BaseIncrementalBadStrategy",
        "stream:constraints::BaseIncrementalConstraintsColumnsEqual",
        "stream:constraints::BaseIncrementalConstraintsRuntimeDdlEnforcement",
        "stream:constraints::BaseIncrementalConstraintsRollback",
        "stream:constraints::BaseIncrementalForeignKeyConstraint",
    ),
    "Over stream tables: views, which as such are the suite for tables once more.": (
        "stream:constraints::BaseViewConstraintsColumnsEqual",
    ),
}

# The packages whose suites are run once more with `+materialized: stream_table`.
OVER_STREAM_TABLES = (
    "aliases basic catalog constraints empty grants hooks persist_docs relations sample_mode unit_testing".split()
)
