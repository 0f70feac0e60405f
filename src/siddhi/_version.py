"""The version of the package: written here only; packaging, the command line and ``siddhi.__version__`` read it."""

__version__ = "0.2.0.dev0"
