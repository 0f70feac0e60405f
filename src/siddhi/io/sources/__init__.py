"""Sources that are built in."""
