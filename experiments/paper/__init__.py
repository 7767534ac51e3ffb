"""The tables and figures of the paper, one module for each, on one harness; `python -m experiments` runs them."""
