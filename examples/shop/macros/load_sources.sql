{#- Creates the shop's raw tables: `dbt run-operation load_sources`. The rows are made up, and the same each time. -#}
{% macro load_sources() %}
  {%- set raw = target.schema ~ '_raw' -%}
  {%- set statements = [
    "create schema if not exists " ~ raw,

    "create or replace table " ~ raw ~ ".customers using delta tblproperties (delta.enableChangeDataFeed = true) as
     select id as customer_id,
            concat('customer ', id) as name,
            element_at(array('north', 'south', 'east', 'west'), cast(id % 4 + 1 as int)) as region
     from range(1, 201)",

    "create or replace table " ~ raw ~ ".products using delta tblproperties (delta.enableChangeDataFeed = true) as
     select id as product_id,
            concat('product ', id) as name,
            element_at(array('tea', 'coffee', 'cups'), cast(id % 3 + 1 as int)) as category,
            cast(2 + id * 0.75 as decimal(10, 2)) as list_price
     from range(1, 41)",

    "create or replace table " ~ raw ~ ".orders using delta tblproperties (delta.enableChangeDataFeed = true) as
     select id as order_id,
            1 + pmod(xxhash64(id), 200) as customer_id,
            timestamp'2026-01-01 08:00:00' + make_interval(0, 0, 0, cast(id % 90 as int), cast(id % 10 as int)) as ordered_at,
            if(id % 25 = 0, 'cancelled', 'placed') as status
     from range(1, 5001)",

    "create or replace table " ~ raw ~ ".order_lines using delta tblproperties (delta.enableChangeDataFeed = true) as
     select o.id as order_id,
            l.id as line,
            1 + pmod(xxhash64(o.id, l.id), 40) as product_id,
            cast(1 + pmod(xxhash64(l.id, o.id), 5) as int) as quantity,
            cast(2 + pmod(xxhash64(o.id, l.id), 40) * 0.75 as decimal(10, 2)) as unit_price
     from range(1, 5001) as o cross join range(1, 4) as l
     where l.id <= 1 + o.id % 3",
  ] -%}
  {%- for statement in statements -%}
    {%- do run_query(statement) -%}
  {%- endfor -%}
{% endmacro %}
