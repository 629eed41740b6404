{#- Warns of, or fails on, a stream table that is late, failing, suspended or was never loaded. -#}
{% test stream_table_healthy(model, warn_after=none, error_after=none) %}
  {{ config(fail_calc='coalesce(max(level), 0)', warn_if='>= 1', error_if='>= 2') }}
  {{ adapter.stream_table_problems(model, warn_after, error_after) if execute else '' }}
{% endtest %}
