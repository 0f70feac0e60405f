"""Outputs of `siddhi run` and `siddhi query`."""
