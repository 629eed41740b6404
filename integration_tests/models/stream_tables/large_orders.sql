-- A view on a view below it, and no key in the result.
select customer_id, amount from {{ ref('large_valid_orders') }}
