"""Events whose processing failed: fault streams, error stores, replay."""
