"""Bind patterns and sequences: states, conditions, limits."""
