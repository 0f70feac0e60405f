"""Patterns and sequences: one automaton."""
