"""What the paper measures, measured again; `python -m experiments` in a checkout runs it."""
