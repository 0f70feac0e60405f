"""Text of rows and rows of text: CSV, JSON lines, tables."""
