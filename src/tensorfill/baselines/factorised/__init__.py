"""Factorisations fitted to the observed entries: by gradient steps, by completing unfoldings, and as tensor rings."""
