"""NORT on several machines, by Dask: entries that do not fit in the memory of one."""
