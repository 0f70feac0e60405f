"""Reading and writing of CSV and JSON lines."""
