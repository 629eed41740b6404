-- One row per order line, with what people ask for beside it.
select
  l.order_id,
  l.line,
  o.order_date,
  c.name as customer,
  c.region,
  p.name as product,
  p.category,
  l.quantity,
  l.amount
from {{ ref('stg_order_lines') }} as l
join {{ ref('stg_orders') }} as o on o.order_id = l.order_id
join {{ source('raw', 'customers') }} as c on c.customer_id = o.customer_id
join {{ source('raw', 'products') }} as p on p.product_id = l.product_id
