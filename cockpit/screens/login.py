"""A credential plugin that asks, while the screens stand: they leave the terminal to it and come back."""

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from textual.app import App

from cockpit import terminal
from cockpit.screens.app_protocol import cockpit_of


class ScreensTerminal:
    """The terminal that the screens have (cockpit.kube.logins.Lender)."""

    is_taken = True

    def __init__(self, app: App[Any]) -> None:
        self._app = app

    @asynccontextmanager
    async def lend(self, plugin: str) -> AsyncGenerator[None, None]:
        """Waits until no shell has it. Raises BadInput where there is none."""
        from cockpit.screens.enter import given_away, say  # loads what no first frame needs

        async with cockpit_of(self._app).terminal_lock:
            with given_away(self._app), terminal.deaf_to_interrupts(), terminal.as_before(sys.stdin.fileno()):
                say(f"log in for the credential plugin {plugin}; ctrl+c leaves it")
                yield
