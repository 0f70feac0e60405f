"""Sinks that are built in."""
