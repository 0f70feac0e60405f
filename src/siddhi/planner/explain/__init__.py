"""The plan as text."""
