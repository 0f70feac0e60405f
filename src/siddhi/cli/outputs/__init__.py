"""What `siddhi run` and `siddhi query` write: rows of streams and of on-demand queries."""
