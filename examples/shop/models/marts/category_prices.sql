-- Reads only the products, which the demo never changes.
select category, count(*) as products, min(list_price) as lowest, max(list_price) as highest
from {{ source('raw', 'products') }}
group by category
