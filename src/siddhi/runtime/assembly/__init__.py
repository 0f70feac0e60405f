"""Plan → operators: the only place where the planner and the compiled core meet. One file per kind of node."""
