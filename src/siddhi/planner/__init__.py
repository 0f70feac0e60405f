"""The planner: an app with names resolved, types inferred, parameters checked."""
