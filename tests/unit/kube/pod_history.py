"""A server's pods through time: every change under its own version, and how far back it is remembered."""

import random

from aiohttp import web

from tests.unit.kube.builders import bookmark, event, pod, status

BEGIN = 100


class PodHistory:
    """Pods that come, change and go at random; answers what a list or a watch of them gets."""

    def __init__(self, seed: int, pods: int = 12) -> None:
        self.version = BEGIN
        self.forgotten_version = 0
        """Versions before this one are compacted: 410 for a watch from there."""
        self._rng = random.Random(seed)
        self._names = [f"p{number}" for number in range(pods)]
        self._versions: dict[str, int] = dict.fromkeys(self._names[: pods // 2], BEGIN)
        self._events: list[tuple[int, bytes]] = []

    def change(self) -> None:
        """One pod comes, changes or goes."""
        self.version += 1
        name = self._rng.choice(self._names)
        verb = "MODIFIED" if name in self._versions else "ADDED"
        if verb == "MODIFIED" and self._rng.random() < 0.4:
            verb = "DELETED"
            del self._versions[name]
        else:
            self._versions[name] = self.version
        self._events.append((self.version, event(verb, pod(name, version=str(self.version)))))

    def state(self) -> dict[str, str]:
        """uid -> version of what is there."""
        return {f"uid-{name}": str(version) for name, version in self._versions.items()}

    def whole(self) -> bytes:
        """The initial events of a streaming list, with their end."""
        items = [event("ADDED", pod(name, version=str(at))) for name, at in self._versions.items()]
        return b"".join(items) + bookmark(str(self.version), ends_list=True)

    def since(self, version: int) -> bytes:
        """The events after a version, or the one that says it has expired."""
        if version < self.forgotten_version:
            return event("ERROR", status(410, "Expired", f"too old resource version: {version}"))
        return b"".join(line for at, line in self._events if at > version)

    def asked(self, request: web.Request) -> bytes:
        """What the request gets first."""
        if "sendInitialEvents" in request.query:
            return self.whole()
        return self.since(int(request.query["resourceVersion"]))


async def begun(request: web.Request) -> web.StreamResponse:
    """The head of a stream of JSON lines."""
    answer = web.StreamResponse(headers={"Content-Type": "application/json"})
    await answer.prepare(request)
    return answer
