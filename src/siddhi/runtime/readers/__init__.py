"""Readers of an app's output that take events themselves: iterators of a stream, and asynchronous callbacks."""
