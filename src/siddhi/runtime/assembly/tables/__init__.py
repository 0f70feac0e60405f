"""In-memory tables: definition, access, output."""
