"""How bad input is answered."""

from __future__ import annotations

import pytest


def refuses(kind, words, action):
    """Check that `action` is refused in one sentence that has these words."""
    with pytest.raises(kind) as caught:
        action()
    message = str(caught.value)
    for word in words:
        assert word in message
    assert message.endswith(".")
    assert "\n" not in message
    assert ". " not in message
