"""An app over streaming DataFrames: its one query, its time, its start and its end."""
