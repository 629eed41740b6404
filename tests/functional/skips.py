"""Every test of dbt's own suites that is not run, and why. Keys: file::class or file::class::test."""

_GRANTS = "GRANT and REVOKE need an authorisation plugin; the Spark that Apache publishes has none."

SKIPS = {
    "adapter/test_grants.py::TestModelGrants": _GRANTS,
    "adapter/test_grants.py::TestIncrementalGrants": _GRANTS,
    "adapter/test_grants.py::TestSeedGrants": _GRANTS,
    "adapter/test_grants.py::TestSnapshotGrants": _GRANTS,
    "adapter/test_grants.py::TestInvalidGrants": _GRANTS,
    "adapter/test_relations.py::TestSimpleCopy::test_simple_copy_with_materialized_views": (
        "Spark creates materialized views inside of declarative pipelines only."
    ),
    "adapter/test_relations.py::TestColumnTypes": (
        "dbt-spark's columns take int for no integer and decimal(10,0) for no number; packages know them so."
    ),
    "adapter/test_persist_docs.py::TestPersistDocsQuotedDescriptionNotAppliedOnMismatch": (
        "Spark compares names of columns without case: the column that must not be found is the same one."
    ),
}
