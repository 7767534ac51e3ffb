"""The mathematics under the methods; it knows nothing of them."""
