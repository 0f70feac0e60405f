"""Aggregators and the groups that own their state."""
