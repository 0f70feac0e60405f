"""`siddhi run --engine spark`."""
