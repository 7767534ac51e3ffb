"""Fill the holes in a tensor."""
