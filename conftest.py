"""What all tests need, the doctests included."""

import signal

# A shell ignores Ctrl-C for what it runs in the background, and so would the tests of interrupts there.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
