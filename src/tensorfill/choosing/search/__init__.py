"""How the open settings of a method are chosen: searches, and the trials that they make."""
