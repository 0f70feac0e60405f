"""Batches: columns of Arrow, numpy and pandas in and out of records."""
