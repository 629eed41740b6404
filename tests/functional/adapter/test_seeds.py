"""Seeds: refreshed in whole each time, their types guessed or given."""
# ruff: noqa: F401

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dbt.tests.adapter.simple_seed import fixtures, seeds, test_seed
from dbt.tests.adapter.simple_seed.test_seed import TestEmptySeed, TestSimpleSeedEnabledViaConfig
from dbt.tests.adapter.simple_seed.test_seed_type_override import BaseSimpleSeedColumnOverride
from dbt.tests.util import run_dbt
from dialect import InSpark, SparkStatements


class _KeepsViews(SparkStatements):
    """Spark drops a table and leaves the views over it, so a seed's full refresh takes no model away."""

    def _check_relation_end_state(self, run_result: Any, project: Any, exists: bool) -> None:
        super()._check_relation_end_state(run_result=run_result, project=project, exists=True)


class TestBasicSeeds(_KeepsViews, test_seed.BaseBasicSeedTests):
    pass


class TestSeedConfigFullRefreshOn(_KeepsViews, test_seed.BaseSeedConfigFullRefreshOn):
    pass


class TestSeedConfigFullRefreshOff(SparkStatements, test_seed.BaseSeedConfigFullRefreshOff):
    pass


class TestSeedCustomSchema(SparkStatements, test_seed.BaseSeedCustomSchema):
    pass


class TestSeedWithUniqueDelimiter(SparkStatements, test_seed.BaseSeedWithUniqueDelimiter):
    pass


class TestSeedWithWrongDelimiter(SparkStatements, test_seed.BaseSeedWithWrongDelimiter):
    pass


class TestSeedWithEmptyDelimiter(SparkStatements, test_seed.BaseSeedWithEmptyDelimiter):
    pass


class TestSeedParsing(SparkStatements, test_seed.BaseSeedParsing):
    pass


class TestSeedSpecificFormats(test_seed.BaseSeedSpecificFormats):
    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        """Without the seed whose name has dots: they separate the parts of a name in Spark's catalog."""
        rows = "\n".join(str(number) for number in range(20_000))
        return {"big_seed.csv": f"seed_id\n{rows}\n", "seed_unicode.csv": seeds.seed__unicode_csv}

    def test_simple_seed(self, project: Any) -> None:
        assert len(run_dbt(["seed"])) == 2


class TestSimpleSeedWithBOM(SparkStatements, test_seed.BaseSimpleSeedWithBOM):
    @pytest.fixture(scope="class", autouse=True)
    def setUp(self, project: Any) -> None:
        # The suite looks for the file beside the test.
        project.run_sql(seeds.seeds__expected_sql)
        seed = Path(test_seed.__file__).with_name("seed_bom.csv")
        (Path(project.project_root) / "seeds" / seed.name).write_bytes(seed.read_bytes())


class TestSimpleSeedColumnOverride(InSpark, BaseSimpleSeedColumnOverride):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        """dbt-spark makes bigint of any integer that it guesses."""
        return {"schema.yml": fixtures.properties__schema_yml.replace("type: integer", "type: bigint")}


class TestSeedColumnTypes:
    """Types that are given for a seed's columns, next to those that are guessed."""

    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        types = "{id: string, amount: 'decimal(10,2)', paid_on: date}"
        return {
            "payments.csv": "id,amount,paid_on,order_id,is_paid\n1,10.5,2018-01-01,7,true\n",
            "schema.yml": f"seeds: [{{name: payments, config: {{column_types: {types}}}}}]",
        }

    def test_column_seed_type(self, project: Any) -> None:
        run_dbt(["seed"])
        rows = project.run_sql("describe {schema}.payments", fetch="all")
        assert [(row[0], row[1]) for row in rows] == [
            ("id", "string"),
            ("amount", "decimal(10,2)"),
            ("paid_on", "date"),
            ("order_id", "bigint"),
            ("is_paid", "boolean"),
        ]


class TestSeedOfSparksVariables:
    """Spark writes settings into any statement, in literals too: not into what a seed says."""

    TEXTS = ("${env:HOME}", "${spark.app.name}", "$1.50", "it's 100% \\ {x}")

    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return {"texts.csv": "id,said\n" + "".join(f'{n},"{text}"\n' for n, text in enumerate(self.TEXTS))}

    def test_it_arrives_as_it_is(self, project: Any) -> None:
        run_dbt(["seed"])
        rows = project.run_sql("select said from {schema}.texts order by id", fetch="all")
        assert [row[0] for row in rows] == list(self.TEXTS)
