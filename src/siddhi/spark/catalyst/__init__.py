"""Streams as DataFrames, expressions and native steps as Catalyst plans."""
