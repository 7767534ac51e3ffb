"""What a fit says and hands out: in words, in a notebook, by label, and as factors to interpret."""
