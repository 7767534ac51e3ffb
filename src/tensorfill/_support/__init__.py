"""What all parts use: checks of input, optional imports, threads, progress, numbers in words."""
