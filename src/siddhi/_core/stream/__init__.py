"""Junctions and what stands at them: inputs, callbacks, buffers, triggers, probes."""
