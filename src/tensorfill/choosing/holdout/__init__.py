"""How entries are held out, and what the held-out entries say."""
