select * from {{ ref('valid_orders') }} where amount >= 100
