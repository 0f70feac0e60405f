"""Incremental aggregations out of their plans."""
