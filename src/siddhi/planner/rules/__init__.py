"""Physical choices, one per module. Each is made once, when an app is planned, and kept in the plan."""
