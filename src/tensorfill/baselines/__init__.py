"""The systems that the paper compares NORT with: one file each, by kind."""
