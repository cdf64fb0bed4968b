"""Opening a session from a kubeconfig file, and what is said when that fails."""

from collections.abc import Callable
from typing import Any

import pytest

from cockpit.clock import SystemClock
from cockpit.errors import NoConnection
from cockpit.kube.session import ApiSession, SessionOptions, open_session

WriteUser = Callable[[dict[str, Any]], str]
"""Writes a kubeconfig with that user entry; answers its path."""


async def opened(path: str, context: str | None = None) -> ApiSession:
    return await open_session(SessionOptions(kubeconfig=path, context=context), SystemClock())


async def sentence_of(path: str, context: str | None = None) -> str:
    """What a failing open says; it is one line and no traceback."""
    with pytest.raises(NoConnection) as caught:
        session = await opened(path, context)
        await session.close()
    assert "\n" not in caught.value.sentence
    assert "Traceback" not in caught.value.sentence
    assert caught.value.exit_code == 2
    return caught.value.sentence
