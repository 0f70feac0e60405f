"""The functions, aggregators and windows of each namespace (``math:sqrt``), a module per namespace."""
