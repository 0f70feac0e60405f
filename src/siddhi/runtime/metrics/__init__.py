"""Statistics of an app, and their export."""
