"""How a problem is answered: one file a method."""
