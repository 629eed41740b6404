-- A bag: rows may be equal, and columns NULL.
select order_id, amount from {{ source('raw', 'payments') }}
union all
select order_id, -amount from {{ source('raw', 'refunds') }}
