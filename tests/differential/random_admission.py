"""Waiting until a real server's admission goes by the limit ranges that were written.

They reach it through a cache of its own. A pod that is created right behind a limit range meets the old ones
where the server is busy, and what admission asked for itself meanwhile it believes for half a minute. The
cache takes what was written in its order: once a limit range of our own is obeyed, so are all before it.
(Quotas reach it in the same way; without a status, which a controller writes, they refuse nothing.)
"""

import threading
import time

from tests.bed.api import Api, Tree

SPACE = "admission"
PATIENCE_SECONDS = 60


class Admission:
    """A limit range of our own on one server."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._lock = threading.Lock()
        self._bytes = 1
        self._path = f"/api/v1/namespaces/{SPACE}"
        if api.request("GET", self._path).status == 404:
            api.create("/api/v1/namespaces", {"metadata": {"name": SPACE}})
            api.create(f"{self._path}/limitranges", {"metadata": {"name": "own"}, **self._limits()})

    def settle(self, path: str) -> None:
        """Wait until admission goes by what was written to `path`, where that matters to it."""
        if "/limitranges" not in path:
            return
        with self._lock:
            self._bytes += 2  # odd, so that no server writes it in thousands
            self._api.merge(f"{self._path}/limitranges/own", self._limits())
            end = time.monotonic() + PATIENCE_SECONDS
            while self._memory() != str(self._bytes):
                if time.monotonic() > end:
                    raise TimeoutError("admission does not go by the limit range that was written")
                time.sleep(0.002)

    def _limits(self) -> Tree:
        return {"spec": {"limits": [{"type": "Container", "default": {"memory": str(self._bytes)}}]}}

    def _memory(self) -> str:
        """The limit that a pod would be given."""
        tree = {"metadata": {"name": "probe"}, "spec": {"containers": [{"name": "a", "image": "b"}]}}
        reply = self._api.request("POST", f"{self._path}/pods", tree, query=(("dryRun", "All"),))
        (container,) = reply.checked().json()["spec"]["containers"]
        return str(container["resources"].get("limits", {}).get("memory"))
