"""Profiles: where the time of an app goes, clause by clause."""
