{#- Where dbt-spark's macros do the wrong thing, or do it slowly, on Delta. -#}

{% macro trickle__load_csv_rows(model, agate_table) %}
  {#- dbt-spark asks for a column's type at each cell, and each answer reads the whole column: a seed of
      20,000 rows takes minutes before its first statement. Here it asks once per column. -#}
  {%- set given = model['config'].get('column_types', {}) -%}
  {%- set casts = [] -%}
  {%- for name in agate_table.column_names -%}
    {%- set type = given.get(name) or adapter.convert_type(agate_table, loop.index0) -%}
    {%- do casts.append('cast(' ~ get_binding_char() ~ ' as ' ~ type ~ ')') -%}
  {%- endfor -%}
  {%- set one_row = '(' ~ casts | join(', ') ~ ')' -%}

  {%- set inserts = [] -%}
  {%- for chunk in agate_table.rows | batch(get_batch_size()) -%}
    {%- set bindings = [] -%}
    {%- for row in chunk -%}
      {%- do bindings.extend(row) -%}
    {%- endfor -%}
    {%- set sql = 'insert into ' ~ this.render() ~ ' values ' ~ ([one_row] * (chunk | length)) | join(', ') -%}
    {%- do adapter.add_query(sql, bindings=bindings, abridge_sql_log=True) -%}
    {%- do inserts.append(sql) -%}
  {%- endfor -%}
  {#- The first batch stands for all of them in target/run. -#}
  {{ return(inserts | first) }}
{% endmacro %}


{% macro trickle__alter_column_set_constraints(relation, column_dict) %}
  {#- Delta refuses SET NOT NULL on a column that a select made nullable, which each column of a model is.
      A check constraint refuses the same rows. dbt-spark ignores the checks of columns; here they hold. -#}
  {%- if not is_incremental() -%}
    {%- for column in column_dict.values() -%}
      {%- set quoted = adapter.quote(column['name']) if column.get('quote') else column['name'] -%}
      {%- for constraint in column['constraints'] -%}
        {%- if constraint.type in ('not_null', 'check') -%}
          {%- set rule = constraint.expression if constraint.type == 'check' else quoted ~ ' is not null' -%}
          {%- set name = constraint.name or constraint.type ~ '_' ~ local_md5(column['name'] ~ ';' ~ rule) -%}
          {% call statement() %}
            alter table {{ relation }} add constraint {{ adapter.quote(name) }} check ({{ rule }})
          {% endcall %}
        {%- else -%}
          {%- do exceptions.warn(
                constraint.type ~ ' of column ' ~ column['name'] ~ ' is not enforced: Delta knows not_null and check'
          ) -%}
        {%- endif -%}
      {%- endfor -%}
    {%- endfor -%}
  {%- endif -%}
{% endmacro %}


{% macro trickle__create_or_replace_clone(this_relation, defer_relation) %}
  {%- if this_relation.render() | lower == defer_relation.render() | lower -%}
    {#- The state is the target itself. dbt-spark looks for this nowhere, and the drop would lose the table. -#}
    {%- do log('Target and state are the same, skipping clone for relation ' ~ this_relation.render()) -%}
    describe table {{ this_relation }}
  {%- else -%}
    {#- Delta clones into no table that has rows; dbt asks for this when there is none, or by --full-refresh. -#}
    {%- do adapter.drop_relation(this_relation) -%}
    create table {{ this_relation }} shallow clone {{ defer_relation }}
  {%- endif -%}
{% endmacro %}


{% macro trickle__get_columns_in_relation(relation) %}
  {#- dbt-spark returns DESCRIBE's raw rows, which have no `name`. A snapshot with hard_deletes: new_record
      finds none of its columns in them, and writes null for each into the record of the deletion. -#}
  {{ return(adapter.get_columns_in_relation(relation)) }}
{% endmacro %}


{% macro trickle__create_columns(relation, columns) %}
  {#- dbt-spark's snapshot keeps its own helper dbt_unique_key out of the table, but not dbt_unique_key_1, …
      of a key with several columns: they would stay there and make the next snapshot ambiguous. -#}
  {%- set wanted = [] -%}
  {%- for column in columns if not column.name.lower().startswith('dbt_unique_key_') -%}
    {%- do wanted.append(column) -%}
  {%- endfor -%}
  {%- do spark__create_columns(relation, wanted) -%}
{% endmacro %}


{#- Under --empty a ref() prints itself as a subquery, which no DESCRIBE and no ALTER TABLE takes; render()
    does not. Without these two dbt_utils.star and its like fail there. -#}
{% macro trickle__get_columns_in_relation_raw(relation) %}
  {% call statement('get_columns_in_relation_raw', fetch_result=True) %}
    describe extended {{ relation.render() }}
  {% endcall %}
  {% do return(load_result('get_columns_in_relation_raw').table) %}
{% endmacro %}


{% macro trickle__alter_column_type(relation, column_name, new_column_type) %}
  {% call statement('alter_column_type') %}
    alter table {{ relation.render() }} alter column {{ adapter.quote(column_name) }} type {{ new_column_type }}
  {% endcall %}
{% endmacro %}
