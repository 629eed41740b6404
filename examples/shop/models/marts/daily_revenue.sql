select o.order_date, sum(l.amount) as revenue, count(*) as order_lines
from {{ ref('stg_order_lines') }} as l
join {{ ref('stg_orders') }} as o on o.order_id = l.order_id
group by o.order_date
