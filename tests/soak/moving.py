"""An estate in which something is made, changed and deleted all the time, until it is told to stand still."""

import asyncio
import http.client
import random
import threading
from collections.abc import Callable
from functools import partial

from tests.bed.api import Api, ApiError
from tests.contract.shapes import pod

PAUSE_SECONDS = 0.15
MOST_PODS = 24
MOST_EVENTS = 200
"""More go, the oldest first: what the app holds is to grow by a leak alone."""
MOST_GONE = 20
"""Deleted pods whose events stay; without a bound their events were 15,000 after an hour."""
SPACES = ("team-a", "team-b")


class Moving:
    """Writes to the server itself, around the proxy, in an order that the seed draws."""

    def __init__(self, api: Api, rng: random.Random) -> None:
        self._api = api
        self._rng = rng
        self._pods: list[str] = []
        self._events: list[str] = []
        self._gone: list[str] = []
        self._made = 0
        self._lock = threading.RLock()
        self._goes = asyncio.Event()
        self._still = asyncio.Event()

    async def run(self) -> None:
        """Move until cancelled, while it may."""
        try:
            while True:
                self._still.set()
                await self._goes.wait()
                self._still.clear()
                await asyncio.to_thread(self._step)
                await asyncio.sleep(PAUSE_SECONDS)
        finally:
            self._still.set()  # nothing moves any more

    def go(self) -> None:
        """Move from now on."""
        self._goes.set()

    async def stand(self) -> None:
        """Move no more; the last write is done."""
        self._goes.clear()
        await self._still.wait()

    async def settle(self, damaged: set[str]) -> None:
        """Change every damaged object once more, and make one that the app cannot know yet."""
        await asyncio.to_thread(self._settle, sorted(damaged))
        damaged.clear()

    async def flood(self, changes: int) -> None:
        """Many changes, one behind the other, as fast as the server takes them."""
        await asyncio.to_thread(self._steps, changes)

    def _steps(self, changes: int) -> None:
        for _ in range(changes):
            self._step()

    def _settle(self, damaged: list[str]) -> None:
        for path in damaged:
            self._quietly(partial(self._touch, path))
        self._quietly(self._make)

    def _step(self) -> None:
        change: Callable[[], None] = self._rng.choice(
            (self._make, self._change, self._change, self._change, self._delete, self._node, self._event)
        )
        self._quietly(change)

    def _quietly(self, change: Callable[[], None]) -> None:
        try:
            with self._lock:  # a flood comes beside what moves anyway
                change()
        except ApiError as error:
            if error.status not in (404, 409):  # another has been faster
                raise
        except (OSError, http.client.HTTPException):  # a server that is too busy for this one
            self._api.close()

    def _make(self) -> None:
        if len(self._pods) >= MOST_PODS:
            self._delete()
        self._made += 1
        name, space = f"soak-{self._made}", self._rng.choice(SPACES)
        self._api.create(f"/api/v1/namespaces/{space}/pods", pod(name, gpus=self._rng.choice((0, 0, 1, 8))))
        self._pods.append(f"/api/v1/namespaces/{space}/pods/{name}")

    def _change(self) -> None:
        if self._pods:
            self._touch(self._rng.choice(self._pods))

    def _touch(self, path: str) -> None:
        self._api.merge(path, {"metadata": {"annotations": {"soak": str(self._rng.getrandbits(32))}}})

    def _delete(self) -> None:
        if not self._pods:
            return
        path = self._pods.pop(self._rng.randrange(len(self._pods)))
        self._api.delete(path)
        self._gone.append(path)
        if len(self._gone) > MOST_GONE:
            self._delete_events(self._gone.pop(0))

    def _delete_events(self, path: str) -> None:
        folder, _, name = path.partition("/pods/")
        selector = (("fieldSelector", f"involvedObject.name={name}"),)
        self._api.request("DELETE", f"{folder}/events", query=selector).checked()

    def _node(self) -> None:
        self._touch(f"/api/v1/nodes/l40s-{self._rng.randrange(4)}")

    def _event(self) -> None:
        self._made += 1
        space = self._rng.choice(SPACES)
        text = self._rng.choice(
            ("it moves", "\x1b[2J\x1b]52;c;YQ==\x07 it moves", "\u202e it moves", "\x9b31m")
        )
        event = {
            "metadata": {"name": f"soak-{self._made}", "namespace": space},
            "involvedObject": {
                "kind": "Pod",
                "namespace": space,
                "name": "soak",
                "uid": f"soak-{self._made}",
            },
            "reason": "Moved",
            "type": "Warning",
            "message": text,
        }
        self._api.create(f"/api/v1/namespaces/{space}/events", event)
        self._events.append(f"/api/v1/namespaces/{space}/events/soak-{self._made}")
        if len(self._events) > MOST_EVENTS:
            self._api.delete(self._events.pop(0))
