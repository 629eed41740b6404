{#- What a day brings, applied to the raw tables: `dbt run-operation apply_changes`.

    Everything arrives in the stream tables by the next `dbt run`: inserts, late rows, updates, deletes and
    a change of a dimension. No model has to know about any of it. -#}
{% macro apply_changes() %}
  {%- set raw = target.schema ~ '_raw' -%}
  {%- set statements = [
    "insert into " ~ raw ~ ".orders values
       (5001, 17, timestamp'2026-04-01 09:30:00', 'placed'),
       (5002, 42, timestamp'2026-04-01 10:15:00', 'placed'),
       (5003, 17, timestamp'2026-01-03 23:50:00', 'placed')  -- arrives three months late",
    "insert into " ~ raw ~ ".order_lines values
       (5001, 1, 3, 2, 4.25), (5001, 2, 40, 1, 32.00), (5002, 1, 12, 5, 11.00), (5003, 1, 7, 3, 7.25)",

    "update " ~ raw ~ ".orders set status = 'cancelled' where order_id in (101, 202, 303)",
    "update " ~ raw ~ ".order_lines set quantity = quantity + 10 where order_id = 404 and line = 1",

    "delete from " ~ raw ~ ".orders where order_id = 505",
    "delete from " ~ raw ~ ".order_lines where order_id = 505",

    "merge into " ~ raw ~ ".customers as t
     using (
       select * from values (17, 'customer 17', 'east'), (201, 'customer 201', 'north') as v (customer_id, name, region)
     ) as s
     on t.customer_id = s.customer_id
     when matched then update set region = s.region
     when not matched then insert *",
  ] -%}
  {%- for statement in statements -%}
    {%- do run_query(statement) -%}
  {%- endfor -%}
{% endmacro %}
