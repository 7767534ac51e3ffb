"""Sums of low-rank unfoldings whose right factors live on observed columns: latent norms, and greedy terms."""
