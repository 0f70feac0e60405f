"""Bind names and types: resolve the object model of an app into its plan, one module per part of the language."""
