"""Every story of `write_stories` on the embedded server and on a real kube-apiserver.

The answers are the same, and so is the history that a watcher is told, up to uids, times, versions and the
order of keys.
"""

import asyncio
import json
import re
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cockpit.clock import SystemClock
from cockpit.sim.server.run import Embedded, serving
from tests.bed.api import Api
from tests.bed.bed import Bed
from tests.differential.go_maps import in_order
from tests.differential.go_phrases import without_go
from tests.differential.tree_differences import differences
from tests.differential.write_steps import Step, Tree
from tests.differential.write_stories import STORIES, WATCHED

pytestmark = pytest.mark.real

_CHANCE = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
        (r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
        (r"\b10\.\d+\.\d+\.\d+\b", "ADDRESS"),
        (r"Upper-\w{5}", "GENERATED"),
        (r"in record \(\d+\)", "in record (VERSION)"),
    )
)
_POD_FIXED = "pod updates may not change fields other than"
_UNCOUNTED = ("resourceVersion", "time")


@pytest.fixture(scope="module")
def both(bed_apiserver: Bed) -> Iterator[tuple[Api, Api]]:
    """The real server and the embedded one, both without controllers."""
    with embedded() as api:
        yield bed_apiserver.api(), api


@contextmanager
def embedded(*, has_quotas: bool = True) -> Iterator[Api]:
    """A server in a thread with a loop of its own."""
    begun, made = threading.Event(), list[Embedded]()
    over, loop = asyncio.Event(), asyncio.new_event_loop()

    async def serve(folder: Path) -> None:
        try:
            started = serving(folder, SystemClock(), Random(1), has_accounts=False, has_quotas=has_quotas)
            async with started as server:
                made.append(server)
                begun.set()
                await over.wait()
        finally:
            begun.set()

    with tempfile.TemporaryDirectory(prefix="cockpit-stories-") as name:
        thread = threading.Thread(target=loop.run_until_complete, args=(serve(Path(name)),), daemon=True)
        thread.start()
        begun.wait(30)
        server = made[0]
        try:
            yield Api(server.url, server.tokens["admin"], server.ca_file)
        finally:
            loop.call_soon_threadsafe(over.set)
            thread.join(10)
            loop.close()


@dataclass
class Telling:
    """One story on one server."""

    api: Api
    space: str
    saved: dict[str, Tree] = field(default_factory=dict)

    def path(self, text: str) -> str:
        roots = {"C": "/api/v1", "B": "/apis/batch/v1", "A": "/apis/apps/v1", "P": "/apis/policy/v1"}
        if not text.startswith("/"):
            text = f"{roots[text[0]]}/namespaces/NS{text[1:]}"
        return text.replace("NS", self.space)

    def body(self, tree: Any) -> Any:
        if tree is None:
            return None
        text = json.dumps(tree).replace("NS", self.space)
        for name, kept in self.saved.items():
            text = text.replace(f"{{{name}.uid}}", kept["uid"])
            text = text.replace(f"{{{name}.version}}", kept["resourceVersion"])
        return json.loads(text)

    def until(self, path: str, status: int) -> int:
        """What is answered in the end: the real server serves a new kind a moment later."""
        end = time.monotonic() + 20
        while (answered := self.api.request("GET", self.path(path)).status) != status:
            if time.monotonic() > end:
                break
        return answered

    def step(self, step: Step) -> Any:
        method, path, body, more = step
        if "until" in more:
            return self.until(path, more["until"]), ""
        query = (
            {"fieldManager": "teller", **more.get("query", {})}
            if method in ("POST", "PUT", "PATCH")
            else more.get("query", {})
        )
        reply = self.api.request(
            method,
            self.path(path),
            self.body(body),
            query=query.items(),
            content_type=more.get("type", "application/json"),
        )
        try:
            tree = reply.json()
        except ValueError:
            # A watch that was accepted: its events are compared elsewhere.
            return reply.status, ""
        if "save" in more:
            self.saved[more["save"]] = tree["metadata"]
        return reply.status, tree


def _is_root_ca(tree: Any) -> bool:
    """The config map that a controller puts into every namespace; here the server does."""
    return isinstance(tree, dict) and (tree.get("metadata") or {}).get("name") == "kube-root-ca.crt"


def plain(tree: Any) -> Any:
    """Without what differs by chance."""
    if isinstance(tree, dict):
        return {key: plain(value) for key, value in in_order(tree).items() if key not in _UNCOUNTED}
    if isinstance(tree, list):
        items = [plain(one) for one in tree if not _is_root_ca(one)]
        is_owners = bool(items) and all(isinstance(one, dict) and "fieldsType" in one for one in items)
        return sorted(items, key=lambda one: json.dumps(one, sort_keys=True)) if is_owners else items
    if isinstance(tree, str):
        for pattern, name in _CHANCE:
            tree = pattern.sub(name, tree)
        # The real one shows after its sentence how the Go structures differ.
        return without_go(tree.partition("\n")[0] if _POD_FIXED in tree else tree)
    return tree


def begun(api: Api, space: str) -> Telling:
    api.create("/api/v1/namespaces", {"metadata": {"name": space}})
    return Telling(api, space)


def history(telling: Telling, path: str, since: str) -> list[Any]:
    """What a watcher hears from a version up to now."""
    query = {"watch": "1", "resourceVersion": since, "timeoutSeconds": "1"}
    body = telling.api.request("GET", telling.path(path), query=query.items()).body
    events = [json.loads(line) for line in body.splitlines() if line]
    told = [event for event in events if event["type"] != "BOOKMARK"]
    return [plain(event) for event in told if not _is_root_ca(event["object"])]


@pytest.mark.parametrize("title", sorted(STORIES))
def test_a_story_is_told_alike(both: tuple[Api, Api], title: str) -> None:
    space = f"story-{uuid.uuid4().hex[:6]}"
    real, mine = (begun(api, space) for api in both)
    since = [one.api.get(one.path("C/configmaps"))["metadata"]["resourceVersion"] for one in (real, mine)]
    found: list[str] = []
    for number, step in enumerate(STORIES[title]):
        there, here = real.step(step), mine.step(step)
        lines = differences(plain(list(here)), plain(list(there)))
        found += [f"{number} {step[0]} {step[1]} {str(step[2])[:90]} {line}" for line in lines]
    touched = {step[1].partition("/")[0] + "/" + step[1].split("/")[1] for step in STORIES[title]}
    for path in WATCHED:
        if path in touched:
            lines = differences(history(mine, path, since[1]), history(real, path, since[0]))
            found += [f"watch of {path} {line}" for line in lines]
    assert not found, "\n".join(found)
