"""How entries are held out, and the errors at held-out entries."""
