"""Patterns and sequences: states, conditions, limits."""
