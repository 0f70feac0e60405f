"""Change data capture: polls a table of any SQL database, or reads the changes that PostgreSQL replicates."""
