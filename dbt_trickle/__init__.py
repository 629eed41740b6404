"""The engine of dbt-trickle: pure functions from a model's SQL to the statements that refresh it.

dbt imports every top-level package named dbt_* in every invocation, so nothing is imported here.
"""
