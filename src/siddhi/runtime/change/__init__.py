"""Changes of a running app: which elements keep their state, and how the operators are exchanged."""
