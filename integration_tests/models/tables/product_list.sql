select product_id, upper(name) as name, price from {{ source('raw', 'products') }}
