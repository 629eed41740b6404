select code, name from {{ source('raw', 'currencies') }}
