{#- Compares a stream table with its own query, evaluated in full over the sources as they are now.

    Both are compared as multisets, in both directions: every row this test returns is a difference.
    Copy this file and macros/full_query.sql to have the same test in another project. -#}
{% test equals_full_query(model) %}
{%- if execute %}
with stored as (
  select * from {{ model }}
),

expected as (
  select * from (
{{ full_query(attached_model_id()) }}
  )
)

select 'missing' as difference, * from (select * from expected except all select * from stored)
union all
select 'left over' as difference, * from (select * from stored except all select * from expected)
{%- endif %}
{% endtest %}
