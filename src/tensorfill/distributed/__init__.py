"""NORT on several machines, by Dask: tables that are too large for the memory of one."""
