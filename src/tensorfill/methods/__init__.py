"""The completion methods, one file or folder for each."""
