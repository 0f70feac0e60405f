"""The scenarios as hand-written loops without an engine, which say what a machine could do at most."""
