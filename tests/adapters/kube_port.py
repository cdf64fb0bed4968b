"""The port on a real API server, by way of `cockpit.kube`: the same kubelets and pools bring it to life.

Follows by a paged list and a watch in JSON. After a watch that is cut or too old (410) comes a new list, and
the sink gets the difference: what an actor sees is the server's state however the line behaves.
"""

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncGenerator
from random import Random
from typing import Any

from cockpit.clock import Clock
from cockpit.errors import CockpitError, NoConnection, Refused
from cockpit.kube.answer import ApiAnswer
from cockpit.kube.resource import PODS, Resource
from cockpit.kube.session import ApiSession
from cockpit.sim.port import ChangeType, ObjectChange, Patch, PatchType, PortError, Sink, Tree

_log = logging.getLogger(__name__)

PAGE_OBJECTS = 500
_IDLE_SECONDS = 360.0
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.2, 20.0
_WATCH_SECONDS = 300
_ANSWER_BYTES = 256 << 20

_Known = dict[tuple[str, str], Tree]
_Listing = tuple[list[Tree], str]


class _Gone(Exception):
    """The watch cannot go on from where it was: list again."""


class KubePort:
    """One actor's door to a cluster. The session must be writable; the port does not close it."""

    def __init__(self, session: ApiSession, clock: Clock, random: Random) -> None:
        """`clock` is the wall's, `random` spreads what is tried again."""
        self._session = session
        self._clock = clock
        self._random = random
        self._tasks: list[asyncio.Task[None]] = []

    async def get(self, resource: Resource, namespace: str, name: str) -> Tree:
        """The newest version of an object."""
        return await self._ask("GET", resource.path(namespace, name))

    async def list(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> list[Tree]:
        """All objects of a namespace, or of all (""), page by page."""
        found, _ = await self._listed(resource, namespace, labels=labels, fields=fields)
        return found

    async def follow(self, resource: Resource, sink: Sink) -> None:
        """Hand over everything there is, then what changes, for as long as the port is open."""
        trees, version = await self._listed(resource)
        known: _Known = {}
        for tree in trees:
            known[_key(tree)] = tree
            sink(ObjectChange(ChangeType.ADDED, resource, tree))
        task = asyncio.create_task(
            self._go_on(resource, sink, known, version), name=f"follow {resource.label}"
        )
        self._tasks.append(task)

    async def create(self, resource: Resource, tree: Tree, namespace: str = "") -> Tree:
        """A new object; without `namespace` that of its metadata counts."""
        if not namespace and resource.namespaced:
            namespace = tree.get("metadata", {}).get("namespace", "")
        whole = {"apiVersion": resource.api_version, "kind": resource.kind, **tree}
        return await self._ask("POST", resource.path(namespace), body=whole)

    async def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: Patch,
        *,
        type: PatchType = PatchType.MERGE,  # noqa: A002
        subresource: str = "",
    ) -> Tree:
        """A patch of an object or of its status or scale."""
        path = resource.path(namespace, name, subresource)
        return await self._ask("PATCH", path, body=patch, content_type=type.value)

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str = "",
        version: str = "",
        grace_seconds: int | None = None,
        propagation: str = "",
    ) -> None:
        """A delete, with what must hold for it."""
        body: Tree = {"apiVersion": "v1", "kind": "DeleteOptions"}
        must = {"uid": uid, "resourceVersion": version}
        if uid or version:
            body["preconditions"] = {key: value for key, value in must.items() if value}
        if grace_seconds is not None:
            body["gracePeriodSeconds"] = grace_seconds
        if propagation:
            body["propagationPolicy"] = propagation
        await self._ask("DELETE", resource.path(namespace, name), body=body)

    async def bind(self, namespace: str, pod: str, node: str, *, uid: str = "") -> None:
        """Put a pod on a node."""
        binding: Tree = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod, "namespace": namespace, **({"uid": uid} if uid else {})},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        await self._ask("POST", PODS.path(namespace, pod, "binding"), body=binding)

    async def evict(self, namespace: str, pod: str, *, grace_seconds: int | None = None) -> None:
        """Delete a pod if its disruption budgets allow it."""
        eviction: Tree = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod, "namespace": namespace},
        }
        if grace_seconds is not None:
            eviction["deleteOptions"] = {"gracePeriodSeconds": grace_seconds}
        await self._ask("POST", PODS.path(namespace, pod, "eviction"), body=eviction)

    async def close(self) -> None:
        """Stop following."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()

    # ---- asking

    async def _ask(
        self,
        method: str,
        path: str,
        *,
        query: tuple[tuple[str, str], ...] = (),
        body: Any = None,
        content_type: str = "application/json",
    ) -> Tree:
        try:
            answer = await self._session.request(
                method, path, query=query, body=body, content_type=content_type, limit_bytes=_ANSWER_BYTES
            )
        except Refused as error:
            raise PortError(403, "Forbidden", error.sentence) from None
        except NoConnection as error:
            raise PortError(503, "ServiceUnavailable", error.sentence) from None
        if not answer.ok:
            raise _refusal(answer)
        tree: Tree = answer.json() if answer.body else {}
        return tree

    async def _listed(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> _Listing:
        """Objects with their kind, and the version of the list."""
        found: list[Tree] = []
        token = ""
        while True:
            query = [("limit", str(PAGE_OBJECTS))]
            given = (("labelSelector", labels), ("fieldSelector", fields), ("continue", token))
            query += [(key, value) for key, value in given if value]
            page = await self._ask("GET", resource.path(namespace), query=tuple(query))
            found += [_named(resource, tree) for tree in page.get("items") or ()]
            metadata = page.get("metadata") or {}
            token = metadata.get("continue", "")
            if not token:
                return found, str(metadata.get("resourceVersion", ""))

    # ---- following

    async def _go_on(self, resource: Resource, sink: Sink, known: _Known, version: str) -> None:
        pause = _FIRST_PAUSE_SECONDS
        while True:
            began = self._clock.monotonic()
            try:
                async for kind, tree in self._events(resource, version):
                    version = str(tree["metadata"].get("resourceVersion", version))
                    if kind != "BOOKMARK":
                        _take(resource, sink, known, ChangeType(kind), tree)
                continue  # the server ended it in good order: go on from here
            except (_Gone, CockpitError, ValueError, KeyError) as error:
                _log.info("following %s: %s; listed again", resource.label, error)
            if self._clock.monotonic() - began > _LONGEST_PAUSE_SECONDS:
                pause = _FIRST_PAUSE_SECONDS
            await asyncio.sleep(pause * (0.8 + 0.4 * self._random.random()))
            pause = min(_LONGEST_PAUSE_SECONDS, 2 * pause)
            with contextlib.suppress(PortError):
                trees, version = await self._listed(resource)
                _reconcile(resource, sink, known, trees)

    async def _events(self, resource: Resource, version: str) -> AsyncGenerator[tuple[str, Tree], None]:
        """Type and object of each event. Raises _Gone for an error event or a refusal."""
        query = (
            ("watch", "true"),
            ("allowWatchBookmarks", "true"),
            ("resourceVersion", version),
            ("timeoutSeconds", str(_WATCH_SECONDS)),
        )
        async with self._session.stream(resource.path(), query=query, idle_seconds=_IDLE_SECONDS) as stream:
            if stream.status != 200:
                raise _Gone((await stream.answer()).message())
            rest = b""
            async for chunk in stream.chunks:
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    if not line.strip():
                        continue
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        raise _Gone(event["object"].get("message", "the watch has ended"))
                    yield event["type"], event["object"]


def _refusal(answer: ApiAnswer) -> PortError:
    said = answer.server_status()
    return PortError(answer.status, said.reason, answer.message())


def _named(resource: Resource, tree: Tree) -> Tree:
    """Items of a list come without their kind."""
    return {"apiVersion": resource.api_version, "kind": resource.kind, **tree}


def _key(tree: Tree) -> tuple[str, str]:
    metadata = tree["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def _take(resource: Resource, sink: Sink, known: _Known, kind: ChangeType, tree: Tree) -> None:
    key = _key(tree)
    if kind is ChangeType.DELETED:
        known.pop(key, None)
    else:
        kind = ChangeType.MODIFIED if key in known else ChangeType.ADDED
        known[key] = tree
    sink(ObjectChange(kind, resource, tree))


def _reconcile(resource: Resource, sink: Sink, known: _Known, trees: list[Tree]) -> None:
    """Tell the difference between what was known and a fresh list; a replaced object goes and comes."""
    fresh = {_key(tree): tree for tree in trees}
    for key, tree in list(known.items()):
        now = fresh.get(key)
        if now is None or now["metadata"].get("uid") != tree["metadata"].get("uid"):
            del known[key]
            sink(ObjectChange(ChangeType.DELETED, resource, tree))
    for key, tree in fresh.items():
        before = known.get(key)
        if before is None or before["metadata"]["resourceVersion"] != tree["metadata"]["resourceVersion"]:
            _take(resource, sink, known, ChangeType.MODIFIED, tree)
