select c.customer_id, c.name
from {{ source('raw', 'customers') }} as c
where not exists (
  select 1 from {{ ref('valid_orders') }} as o where o.customer_id = c.customer_id
)
