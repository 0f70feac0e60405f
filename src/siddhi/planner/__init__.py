"""The planner: resolve names, infer types, check parameters and make the physical choices of an app."""
