"""Aggregators, stream processors and windows of namespaces that are written in Python."""
