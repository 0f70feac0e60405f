"""An app over streaming DataFrames: its query, its time, its start and its end."""
