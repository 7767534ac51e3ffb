"""What all parts of the package share: checks of input, optional imports, threads, progress, numbers in words."""
