{#- A stream table: hooks and dbt's own duties here, everything else in dbt_trickle (run/refresh.py). -#}
{% materialization stream_table, adapter='trickle', supported_languages=['sql'] %}
  {%- set existing = load_relation(this) -%}
  {%- do adapter.announce_stream_tables(model, graph, selected_resources) -%}

  {{ run_hooks(pre_hooks) }}

  {%- set query = compiled_code -%}
  {%- if config.get('contract').enforced -%}
    {{ get_assert_columns_equivalent(compiled_code) }}
    {%- set query = get_select_subquery(compiled_code) -%}
  {%- endif -%}

  {%- set done = adapter.refresh_stream_table(model, query, graph, should_full_refresh()) -%}
  {%- set target_relation = this.incorporate(type=done.type) -%}
  {%- do store_result('main', response=done.response) -%}
  {%- do write(done.statements) -%}
  {#- Older versions of dbt-adapters say nothing of described columns that are not there. -#}
  {%- if validate_doc_columns is defined and done.columns and config.persist_column_docs() and model.columns -%}
    {%- do validate_doc_columns(target_relation, model.columns, done.columns) -%} {#- warns of those not there -#}
  {%- endif -%}

  {%- do apply_grants(
        target_relation, config.get('grants'), should_revoke(existing, full_refresh_mode=True)
  ) -%}

  {{ run_hooks(post_hooks) }}

  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
