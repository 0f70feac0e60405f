"""Interfaces of other packages over this engine: programs written for them run as they are."""
