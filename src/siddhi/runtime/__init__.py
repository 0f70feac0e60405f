"""Running apps: manager, app runtime, assembly, clock, persistence."""
