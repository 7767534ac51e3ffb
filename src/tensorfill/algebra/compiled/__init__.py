"""The loops that numba compiles; imported only by the functions that run them, because numba is slow to import."""
