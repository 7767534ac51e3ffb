"""A mean and an effect of each index, fitted to the observed entries."""
