"""Adds this directory to the import path, so that the benchmarks can import the scripts in it."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
