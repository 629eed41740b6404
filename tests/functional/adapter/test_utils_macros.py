"""dbt's cross-database macros. An imported suite runs as it is."""
# ruff: noqa: F401

from __future__ import annotations

import pytest
from dbt.tests.adapter.utils import fixture_get_intervals_between as intervals
from dbt.tests.adapter.utils import fixture_listagg
from dbt.tests.adapter.utils.test_any_value import TestAnyValue
from dbt.tests.adapter.utils.test_array_append import TestArrayAppend
from dbt.tests.adapter.utils.test_array_concat import TestArrayConcat
from dbt.tests.adapter.utils.test_array_construct import TestArrayConstruct
from dbt.tests.adapter.utils.test_bool_or import TestBoolOr
from dbt.tests.adapter.utils.test_cast import TestCast
from dbt.tests.adapter.utils.test_cast_bool_to_text import TestCastBoolToText
from dbt.tests.adapter.utils.test_concat import TestConcat
from dbt.tests.adapter.utils.test_current_timestamp import BaseCurrentTimestampNaive
from dbt.tests.adapter.utils.test_date import TestDate
from dbt.tests.adapter.utils.test_date_spine import TestDateSpine
from dbt.tests.adapter.utils.test_date_trunc import TestDateTrunc
from dbt.tests.adapter.utils.test_dateadd import TestDateAdd
from dbt.tests.adapter.utils.test_datediff import TestDateDiff
from dbt.tests.adapter.utils.test_equals import TestEquals
from dbt.tests.adapter.utils.test_escape_single_quotes import BaseEscapeSingleQuotesBackslash
from dbt.tests.adapter.utils.test_except import TestExcept
from dbt.tests.adapter.utils.test_generate_series import TestGenerateSeries
from dbt.tests.adapter.utils.test_get_intervals_between import BaseGetIntervalsBetween
from dbt.tests.adapter.utils.test_get_powers_of_two import TestGetPowersOfTwo
from dbt.tests.adapter.utils.test_hash import TestHash
from dbt.tests.adapter.utils.test_intersect import TestIntersect
from dbt.tests.adapter.utils.test_last_day import BaseLastDay
from dbt.tests.adapter.utils.test_length import TestLength
from dbt.tests.adapter.utils.test_listagg import BaseListagg
from dbt.tests.adapter.utils.test_null_compare import TestMixedNullCompare, TestNullCompare
from dbt.tests.adapter.utils.test_position import TestPosition
from dbt.tests.adapter.utils.test_replace import TestReplace
from dbt.tests.adapter.utils.test_right import TestRight
from dbt.tests.adapter.utils.test_safe_cast import TestSafeCast
from dbt.tests.adapter.utils.test_source_freshness_custom_info import TestCalculateFreshnessMethod
from dbt.tests.adapter.utils.test_split_part import TestSplitPart
from dbt.tests.adapter.utils.test_string_literal import TestStringLiteral
from dbt.tests.adapter.utils.test_timestamps import BaseCurrentTimestamps
from dbt.tests.adapter.utils.test_validate_sql import TestValidateSqlMethod


class TestCurrentTimestamp(BaseCurrentTimestampNaive):
    """Spark's timestamps come to Python without a zone, in UTC."""


class TestCurrentTimestamps(BaseCurrentTimestamps):
    @pytest.fixture(scope="class")
    def expected_sql(self) -> None:
        return None

    @pytest.fixture(scope="class")
    def expected_schema(self) -> dict[str, str]:
        return dict.fromkeys(
            ("current_timestamp", "current_timestamp_in_utc_backcompat", "current_timestamp_backcompat"),
            "timestamp",
        )


class TestEscapeSingleQuotes(BaseEscapeSingleQuotesBackslash):
    pass


class TestGetIntervalsBetween(BaseGetIntervalsBetween):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        """The suite writes a day as 09/01/2023, which is no date in Spark."""
        call = """{{ get_intervals_between("'2023-09-01'", "'2023-09-12'", "day") }}"""
        return {
            "test_get_intervals_between.yml": intervals.models__test_get_intervals_between_yml,
            "test_get_intervals_between.sql": f"select {call} as intervals, 11 as expected",
        }


class TestLastDay(BaseLastDay):
    pass


class TestListagg(BaseListagg):
    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        """dbt-spark's listagg says that it orders nothing: the rows come as the seed has them."""
        ordered = fixture_listagg.seeds__data_listagg_output_csv
        return {
            "data_listagg.csv": fixture_listagg.seeds__data_listagg_csv,
            "data_listagg_output.csv": ordered.replace('2,"1_|_a', '2,"a_|_1'),
        }
