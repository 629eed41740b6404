-- A stream table that reads another one.
select date_trunc('month', order_date) as month, sum(revenue) as revenue, max(revenue) as best_day
from {{ ref('daily_revenue') }}
group by date_trunc('month', order_date)
