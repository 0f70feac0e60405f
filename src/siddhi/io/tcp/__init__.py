"""Siddhi's TCP protocol: source and sink."""
