"""Tables that are too large for one machine, on Dask."""
