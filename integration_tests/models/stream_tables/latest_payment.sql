with ranked as (
  select
    order_id, paid_at, amount,
    row_number() over (partition by order_id order by paid_at desc, payment_id desc) as position
  from {{ source('raw', 'payments') }}
)

select order_id, paid_at, amount from ranked where position = 1
