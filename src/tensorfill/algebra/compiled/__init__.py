"""Loops compiled by numba; imported only where they are called, because numba is slow to import."""
