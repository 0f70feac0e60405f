"""Sinks that Spark itself serves, and what a batch or stream writes."""
