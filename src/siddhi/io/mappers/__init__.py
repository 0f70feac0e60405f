"""Built-in mappers."""
