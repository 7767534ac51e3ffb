"""Helpers shared by the whole package: input validation, optional imports, threads, progress, formatting."""
