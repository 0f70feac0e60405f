"""Plans of incremental aggregations → operators."""
