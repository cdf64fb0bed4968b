"""An embedded server in the loop of the case, and a plain client of it."""

import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
import pytest

from cockpit.clock import ManualClock
from cockpit.sim.server.run import Embedded, serving


class Client:
    """Requests as one of the shipped users."""

    def __init__(self, server: Embedded, http: aiohttp.ClientSession) -> None:
        self.server = server
        self.tls = ssl.create_default_context(cafile=str(server.ca_file))
        self._http = http

    def open(
        self, method: str, path: str, who: str = "admin", **more: Any
    ) -> "aiohttp.client._RequestContextManager":
        """The answer, still open; use as `async with`. `who` "" sends no token."""
        headers = dict(more.pop("headers", {}))
        if who:
            headers["Authorization"] = f"Bearer {self.server.tokens.get(who, who)}"
        return self._http.request(method, self.server.url + path, headers=headers, ssl=self.tls, **more)

    async def ask(self, method: str, path: str, who: str = "admin", **more: Any) -> tuple[int, Any]:
        """Status and body, as JSON where it is that."""
        async with self.open(method, path, who, **more) as answer:
            if "json" in answer.headers.get("Content-Type", ""):
                return answer.status, await answer.json(content_type=None)
            return answer.status, await answer.text()

    async def make(self, path: str, tree: dict[str, Any]) -> dict[str, Any]:
        """A new object."""
        status, made = await self.ask("POST", path, json=tree)
        assert status == 201, made
        assert isinstance(made, dict)
        return made

    def connect(self, path: str, who: str, protocols: tuple[str, ...]) -> Any:
        """A websocket."""
        headers = {"Authorization": f"Bearer {self.server.tokens[who]}"}
        url = self.server.url + path
        return self._http.ws_connect(url, headers=headers, ssl=self.tls, protocols=protocols)


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with (
        serving(tmp_path, ManualClock(), Random(1)) as server,
        aiohttp.ClientSession() as http,
    ):
        yield Client(server, http)


def pod(name: str, **spec: Any) -> dict[str, Any]:
    """A pod of one container."""
    containers = [{"name": "main", "image": "registry.test/x:1"}]
    return {"metadata": {"name": name}, "spec": {"containers": containers, **spec}}
