select c.region, sum(l.amount) as total, count(distinct o.order_id) as orders
from {{ ref('stg_order_lines') }} as l
join {{ ref('stg_orders') }} as o on o.order_id = l.order_id
join {{ source('raw', 'customers') }} as c on c.customer_id = o.customer_id
group by c.region
