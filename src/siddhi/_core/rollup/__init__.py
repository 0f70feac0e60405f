"""Incremental aggregations."""
