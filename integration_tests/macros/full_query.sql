{#- The SQL of a model, with the names of what it reads filled in.

    dbt compiles only what it is about to run, so in `dbt test` a model's compiled SQL is not at hand.
    This fills in ref('…') and source('…', '…') as models of this project write them; whatever else is
    left to render (var(), a macro) is rendered by dbt. -#}
{% macro full_query(model_id) %}
  {%- set node = graph.nodes[model_id] -%}
  {%- set text = namespace(sql=modules.re.sub('(?s)\\{\\{\\s*config\\(.*?\\)\\s*\\}\\}', '', node.raw_code)) -%}
  {%- for parent_id in node.depends_on.nodes -%}
    {%- set parent = graph.nodes.get(parent_id) or graph.sources[parent_id] -%}
    {%- if parent.resource_type == 'source' -%}
      {%- set call = "source\\(\\s*'" ~ parent.source_name ~ "'\\s*,\\s*'" ~ parent.name ~ "'\\s*\\)" -%}
    {%- else -%}
      {%- set call = "ref\\(\\s*'" ~ parent.name ~ "'\\s*\\)" -%}
    {%- endif -%}
    {%- set text.sql = modules.re.sub('\\{\\{\\s*' ~ call ~ '\\s*\\}\\}', parent.relation_name, text.sql) -%}
  {%- endfor -%}
  {{ return(render(text.sql)) }}
{% endmacro %}

{#- Inside a generic test the name `model` is the tested relation; out here it is the test itself. -#}
{% macro attached_model_id() %}
  {{ return(model.attached_node) }}
{% endmacro %}
