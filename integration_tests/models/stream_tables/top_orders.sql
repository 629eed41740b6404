select order_id, amount
from {{ ref('valid_orders') }}
order by amount desc nulls last, order_id
limit 3
