"""The loops that numba compiles; imported only where they are run, because the compiler is slow to import."""
