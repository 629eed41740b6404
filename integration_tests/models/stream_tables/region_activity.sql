-- Customers and orders reach this one by two ways.
select t.region_name, t.total, sum(a.orders) as orders, count(*) as customers
from {{ ref('totals_by_region') }} as t
join {{ ref('regions') }} as r on r.region_name = t.region_name
join {{ ref('orders_per_customer') }} as a on a.region_code = r.code
group by t.region_name, t.total
