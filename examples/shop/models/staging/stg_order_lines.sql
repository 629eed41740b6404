select order_id, line, product_id, quantity, unit_price, quantity * unit_price as amount
from {{ source('raw', 'order_lines') }}
