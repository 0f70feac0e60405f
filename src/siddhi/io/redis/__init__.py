"""Streams and channels of Redis."""
