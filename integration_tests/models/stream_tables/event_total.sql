-- Without GROUP BY there is one row, also over nothing.
select count(*) as events, max(happened_at) as latest from {{ source('raw', 'events') }}
