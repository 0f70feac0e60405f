"""Expressions compiled to typed closures."""
