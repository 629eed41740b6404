"""What dbt remembers of the relations it saw, and how several threads build at once."""
# ruff: noqa: F401

from __future__ import annotations

from typing import Any

from dbt.tests.adapter.caching import test_caching
from dbt.tests.adapter.concurrency.test_concurrency import TestConcurenncy
from dbt.tests.util import run_dbt


class _Cache:
    def run_and_inspect_cache(self, project: Any, run_args: list[str] | None = None) -> None:
        """The suite's own compares the database, too, and there is none in Spark."""
        seen = []
        for _ in range(2):
            run_dbt(run_args)
            (relation,) = project.adapter.cache.relations
            assert relation.schema == project.test_schema
            seen.append((relation.database, relation.schema.lower(), relation.identifier.lower()))
        assert seen[0] == seen[1]


class TestCachingLowercaseModel(_Cache, test_caching.BaseCachingLowercaseModel):
    pass


class TestCachingUppercaseModel(_Cache, test_caching.BaseCachingUppercaseModel):
    pass


class TestCachingSelectedSchemaOnly(_Cache, test_caching.BaseCachingSelectedSchemaOnly):
    pass


class TestNoPopulateCache(_Cache, test_caching.BaseNoPopulateCache):
    pass
