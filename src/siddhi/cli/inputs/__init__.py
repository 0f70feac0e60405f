"""Inputs of `siddhi run`: files and standard input, merged by time."""
