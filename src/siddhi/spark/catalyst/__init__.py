"""Catalyst: streams as DataFrames, and expressions and Catalyst stages as Spark plans."""
