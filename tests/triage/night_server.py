"""A night behind the embedded server, for the cockpit itself: objects in its storage as they were staged, and
a kubelet that gives the last lines. Nothing moves there: nobody heals, nobody starts."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from random import Random

from aiohttp import web

from cockpit.clock import SystemClock
from cockpit.sim.actors.kubelet.endpoint import server_context
from cockpit.sim.port import Tree
from cockpit.sim.resources import CUSTOM_RESOURCE_DEFINITIONS
from cockpit.sim.server.native_groups import pod_group_kind
from cockpit.sim.server.operations import Operations
from cockpit.sim.server.request import Request
from cockpit.sim.server.run import Embedded
from cockpit.sim.server.storage import key_of
from tests.adapters.threaded_server import threaded
from tests.triage.case import Case
from tests.triage.fixture_stage import is_cluster_wide
from tests.triage.night import LATER_SECONDS, Night, night

_HOST = "127.0.0.1"
_STAMP = "2026-01-01T00:00:00Z"


@contextmanager
def night_served(seed: int, folder: Path) -> Iterator[tuple[Night, Path]]:
    """The night of a seed, staged so that it is looked at now, and the kubeconfig of its server."""
    one = night(seed, SystemClock().now() - LATER_SECONDS)
    with case_served(one.case, folder) as kubeconfig:
        yield one, kubeconfig


@contextmanager
def case_served(case: Case, folder: Path) -> Iterator[Path]:
    """A server that holds a case as it is; its kubeconfig."""

    @asynccontextmanager
    async def filled(server: Embedded) -> AsyncIterator[None]:
        async with _kubelet(server, case) as port:
            server.context.listens = lambda host, asked: (host, asked) == (_HOST, port)
            _fill(server.operations, case, port)
            yield

    random = Random(case.file.recorded.seed)
    with threaded(folder, SystemClock(), random, has_accounts=False, around=filled) as work:
        yield work.server.kubeconfig


def _fill(operations: Operations, case: Case, port: int) -> None:
    """Put the objects into the storage; a kind that is not served gets a definition that takes anything."""
    operations.kinds.add(pod_group_kind())
    for label, trees in case.objects.items():
        for tree in trees:
            if label == "nodes":
                tree["status"] |= {
                    "addresses": [{"type": "InternalIP", "address": _HOST}],
                    "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
                }
            kind = operations.kinds.by_kind(tree["apiVersion"], tree["kind"])
            if kind is None:
                definition = _definition(label, tree)
                operations.create(Request(resource=CUSTOM_RESOURCE_DEFINITIONS, verb="create"), definition)
                kind = operations.kinds.by_kind(tree["apiVersion"], tree["kind"])
            assert kind is not None, f"nobody serves {tree['kind']} of {tree['apiVersion']}"
            meta = tree["metadata"]
            operations.storage.put(kind.shelf, key_of(meta.get("namespace", ""), meta["name"]), tree)


def _definition(label: str, tree: Tree) -> Tree:
    plural, _, group = label.partition(".")
    kind, version = tree["kind"], tree["apiVersion"].rpartition("/")[2]
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
    served = {"name": version, "served": True, "storage": True, "subresources": {"status": {}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": label, "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"}},
        "spec": {
            "group": group,
            "scope": "Cluster" if is_cluster_wide(tree) else "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "versions": [{**served, "schema": {"openAPIV3Schema": schema}}],
        },
    }


@asynccontextmanager
async def _kubelet(server: Embedded, case: Case) -> AsyncIterator[int]:
    """The port at which the last lines of all containers can be had."""

    async def logs(request: web.Request) -> web.Response:
        lines = case.logs.get("/".join(request.match_info[part] for part in ("space", "pod", "container")))
        if lines is None:
            return web.Response(status=400, text="previous terminated container not found")
        mark = f"{_STAMP} " if request.query.get("timestamps") else ""
        return web.Response(text="".join(f"{mark}{line}\n" for line in lines))

    app = web.Application()
    app.router.add_get("/containerLogs/{space}/{pod}/{container}", logs)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    pair = server.certificates.server
    context = server_context(pair.certificate_file, pair.key_file, server.ca_file)
    await web.TCPSite(runner, _HOST, 0, ssl_context=context).start()
    try:
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()
