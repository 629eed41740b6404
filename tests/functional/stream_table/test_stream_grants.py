"""The grants of a stream table, as far as a Spark without an authorisation plugin goes: which statements are sent.

Two macros of the project stand for the plugin: one answers what is granted, the other takes down what it is told.
"""

from __future__ import annotations

import pytest
from shop import Shop, model, sources

pytestmark = pytest.mark.spark

PLUGIN = """
{% macro trickle__get_show_grant_sql(relation) %}
  select principal as Principal, action as ActionType, 'TABLE' as ObjectType
  from {{ relation.schema }}.granted where name = '{{ relation.identifier }}'
{% endmacro %}

{% macro trickle__call_dcl_statements(statements) %}
  {% for statement in statements %}
    {% do run_query("insert into " ~ target.schema ~ ".sent select max(at) + 1, '" ~ statement.strip() ~ "' from "
                    ~ target.schema ~ ".sent") %}
  {% endfor %}
{% endmacro %}
"""
QUERY = "select region, sum(amount) as total from {{ source('shop', 'orders') }} group by region"


class TestGrants:
    @pytest.fixture(scope="class")
    def macros(self) -> dict[str, str]:
        return {"plugin.sql": PLUGIN}

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"sources.yml": sources("orders")}

    @pytest.mark.parametrize("expose", ["view", "table"])
    def test_only_what_is_not_so_already(self, shop: Shop, expose: str) -> None:
        shop.table("orders")
        shop.sql(
            "create or replace table granted using delta as select '' as name, '' as principal, '' as action",
            "create or replace table sent using delta as select 0 as at, '' as text",
        )
        name, public = f"as_{expose}", f"{shop.schema}.as_{expose}"

        def run(action: str, query: str, *grantees: str) -> list[str]:
            """What is sent; from then on it is granted."""
            shop.write(
                f"{name}.sql",
                model(query, expose=expose, refresh_mode="differential", grants={"select": list(grantees)}),
            )
            assert shop.run(name)[name].adapter_response["action"] == action
            sent = [row.text.replace("`", "") for row in shop.sql("select text from sent where at > 0 order by at")]
            values = ", ".join(f"('{name}', '{grantee}', 'select')" for grantee in grantees)
            shop.sql(f"insert overwrite granted values {values}", "delete from sent where at > 0")
            return sent

        assert run("FULL", QUERY, "reporter") == [f"grant select on {public} to reporter"]
        assert run("NO_DATA", QUERY, "reporter") == []
        shop.sql("insert into orders values (3, 'west', 5)")
        assert run("DIFFERENTIAL", QUERY, "reporter", "auditor") == [f"grant select on {public} to auditor"]
        altered = QUERY.replace("as total", "as spent")
        assert run("ALTER", altered, "auditor") == [f"revoke select on {public} from reporter"]
        assert run("NO_DATA", altered, "auditor") == []
