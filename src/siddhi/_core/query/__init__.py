"""Queries: entry, selection, output, partitions, output rates."""
