"""Profiles: the clauses of queries, and the probes that measure them."""
