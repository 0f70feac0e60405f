"""Corrections: log and checkpoints of an app, its revised output."""
