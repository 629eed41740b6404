{#- Executes statements in order: dbt run-operation change --args '{statements: ["delete from …"]}'.
    They may use source() and ref(). -#}
{% macro change(statements) %}
  {%- do run_query('create schema if not exists ' ~ target.schema ~ '_raw') -%}
  {%- for statement in statements -%}
    {%- do run_query(render(statement)) -%}
  {%- endfor -%}
{% endmacro %}
