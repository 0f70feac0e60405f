"""Tables in memory: definition, access, output."""
