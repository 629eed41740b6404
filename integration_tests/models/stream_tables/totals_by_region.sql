select r.region_name, sum(o.amount) as total, count(*) as orders
from {{ ref('valid_orders') }} as o
join {{ source('raw', 'customers') }} as c on c.customer_id = o.customer_id
join {{ ref('regions') }} as r on r.code = c.region_code
group by r.region_name
