"""Prometheus: metrics that are exposed, pushed and scraped."""
