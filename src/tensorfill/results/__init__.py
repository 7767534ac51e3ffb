"""The output of a fit: as text, in a notebook, by label, and as factors."""
