"""The port on a real API server, as little of it as kubelets need; a lost watch is not mended."""

import asyncio
import json
import ssl
from pathlib import Path
from typing import Any

import aiohttp

from cockpit.kube.resource import Resource
from cockpit.sim.port import Change, ChangeType, Patch, PatchType, PortError, Sink, Tree


class RestPort:
    """Speaks JSON with a bearer token."""

    def __init__(self, server: str, token: str, ca_file: Path) -> None:
        context = ssl.create_default_context(cafile=str(ca_file))
        context.check_hostname = False
        self._session = aiohttp.ClientSession(
            server,
            headers={"Authorization": f"Bearer {token}"},
            connector=aiohttp.TCPConnector(ssl=context, limit=0),
            timeout=aiohttp.ClientTimeout(total=None),
        )
        self._watches: list[asyncio.Task[None]] = []

    async def _ask(self, method: str, path: str, **options: Any) -> Tree:
        async with self._session.request(method, path, **options) as response:
            tree: Tree = await response.json(content_type=None)
            if response.status >= 400:
                raise PortError(response.status, tree.get("reason", ""), tree.get("message", ""))
            return tree

    async def get(self, resource: Resource, namespace: str, name: str) -> Tree:
        return await self._ask("GET", resource.path(namespace, name))

    async def list(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> list[Tree]:
        query = {"labelSelector": labels, "fieldSelector": fields}
        items: list[Tree] = (await self._ask("GET", resource.path(namespace), params=query))["items"]
        return items

    async def follow(self, resource: Resource, sink: Sink) -> None:
        listed = await self._ask("GET", resource.path())
        for tree in listed["items"]:
            named = {**tree, "kind": resource.kind, "apiVersion": resource.api_version}
            sink(Change(ChangeType.ADDED, resource, named))
        version = listed["metadata"]["resourceVersion"]
        self._watches.append(asyncio.create_task(self._watch(resource, sink, version)))

    async def _watch(self, resource: Resource, sink: Sink, version: str) -> None:
        query = {"watch": "1", "resourceVersion": version}
        async with self._session.get(resource.path(), params=query) as response:
            async for line in response.content:
                event = json.loads(line)
                sink(Change(ChangeType(event["type"]), resource, event["object"]))

    async def create(self, resource: Resource, tree: Tree, namespace: str = "") -> Tree:
        return await self._ask("POST", resource.path(namespace), json=tree)

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
        path = resource.path(namespace, name, subresource)
        headers = {"Content-Type": type.value}
        return await self._ask("PATCH", path, data=json.dumps(patch), headers=headers)

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
        body: Tree = {"kind": "DeleteOptions", "apiVersion": "v1"}
        if uid:
            body["preconditions"] = {"uid": uid}
        if grace_seconds is not None:
            body["gracePeriodSeconds"] = grace_seconds
        await self._ask("DELETE", resource.path(namespace, name), json=body)

    async def bind(self, namespace: str, pod: str, node: str, *, uid: str = "") -> None:
        raise NotImplementedError

    async def evict(self, namespace: str, pod: str, *, grace_seconds: int | None = None) -> None:
        raise NotImplementedError

    async def close(self) -> None:
        for watch in self._watches:
            watch.cancel()
        await asyncio.gather(*self._watches, return_exceptions=True)
        await self._session.close()
