{#- Each row in which a stream table is not its defining query over its sources as of its last refresh. -#}
{% test stream_table_consistent(model) %}
  {%- if execute and flags.WHICH not in ('compile', 'generate') %}
    {{ adapter.stream_table_differences(model) }}
  {%- else %}
    {#- The comparison is about what is there; on a fresh target nothing is. #}
    select 'missing' as `__pgt_difference` where false
  {%- endif %}
{% endtest %}
