"""``siddhi run --engine spark``."""
