select c.customer_id, c.name, sum(l.amount) as revenue
from {{ ref('stg_order_lines') }} as l
join {{ ref('stg_orders') }} as o on o.order_id = l.order_id
join {{ source('raw', 'customers') }} as c on c.customer_id = o.customer_id
group by c.customer_id, c.name
order by revenue desc, c.customer_id
limit 10
