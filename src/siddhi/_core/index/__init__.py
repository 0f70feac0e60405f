"""Hash and sorted indexes over keys."""
