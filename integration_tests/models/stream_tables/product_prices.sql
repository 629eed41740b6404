-- Reads a table model, which dbt replaces in place on each of its runs.
select name, price from {{ ref('product_list') }} where price is not null
