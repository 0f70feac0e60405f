"""Tests of what others write: their apps (:mod:`siddhi.testing.app`, and the plug-in of pytest) and their sources and sinks
(:mod:`siddhi.testing.connectors`)."""
