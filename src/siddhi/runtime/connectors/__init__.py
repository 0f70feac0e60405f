"""Sources and sinks of a running app."""
