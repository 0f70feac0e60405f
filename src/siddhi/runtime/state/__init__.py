"""Snapshots, revisions and increments of a running app."""
