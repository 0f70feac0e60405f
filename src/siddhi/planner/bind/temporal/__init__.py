"""Bind temporal streams and queries."""
