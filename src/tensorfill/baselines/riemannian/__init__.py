"""Riemannian preconditioned descent on the Tucker manifold: its geometry, and the method."""
