"""Functions of namespaces, such as ``math:sqrt``."""
