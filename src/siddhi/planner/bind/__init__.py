"""Names and types: the object model of an app resolved into its plan, one module per part of the language."""
