"""Sinks that Spark supports, and the output folders of batches and streams."""
