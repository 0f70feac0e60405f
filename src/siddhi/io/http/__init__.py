"""HTTP: sources that listen, sinks that call, and server-sent events."""
