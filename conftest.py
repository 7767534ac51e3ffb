"""What all tests need, the doctests included."""

import gc
import signal

import pytest

# A shell ignores Ctrl-C for what it runs in the background, and so would the tests of interrupts there.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config):
    """Allow tests to fit small arrays without gaps; that a user hears of it is tested in test_first_minutes.py."""
    config.addinivalue_line("filterwarnings", "ignore::tensorfill.choosing.doubts.NothingMissingWarning")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Import all tests and modules without looking for garbage, of which they make none.

    The collector would otherwise walk through these million objects again and again.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
