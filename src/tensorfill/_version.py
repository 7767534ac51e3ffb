"""The version of the package, in the one place that every other reads it from."""

__version__ = "0.1.0"
