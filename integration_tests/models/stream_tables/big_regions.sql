-- A stream table on a stream table.
select region_name, total from {{ ref('totals_by_region') }} where total > 100
