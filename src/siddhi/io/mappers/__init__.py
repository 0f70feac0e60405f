"""Mappers that are built in."""
