"""Temporal streams: ingress, operators on lifetimes, output."""
