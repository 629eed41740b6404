select order_id, customer_id, ordered_at, amount
from {{ source('raw', 'orders') }}
where status <> 'cancelled'
