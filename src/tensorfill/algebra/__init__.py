"""Linear algebra for the methods, independent of any of them."""
