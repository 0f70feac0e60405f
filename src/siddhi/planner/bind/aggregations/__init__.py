"""Bind incremental aggregations: definition, store, purge, and the queries that read them."""
