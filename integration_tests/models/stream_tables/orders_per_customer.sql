select c.customer_id, c.region_code, count(o.order_id) as orders, sum(o.amount) as total
from {{ source('raw', 'customers') }} as c
left join {{ ref('valid_orders') }} as o on o.customer_id = c.customer_id
group by c.customer_id, c.region_code
