"""The tables and figures of the paper, one module for each, on one harness; `experiments/run.py` runs them."""
