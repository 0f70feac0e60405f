"""Built-in functions of namespaces."""
