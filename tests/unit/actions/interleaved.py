"""A small cluster in memory, and everybody who changes it, one request at a time in an order that a seed decides.

The server keeps trees by path with uids and resource versions, merge patches, JSON patches of a Lease, the scale
subresource, preconditions of deletes, and lists of pods by node: as much as the plans under test meet. The
cockpits are the product's own code (`scale_as_now`, `plan_nodes`, `carry_replanned`, the Lease), each over a
store of its own that lags behind. Their coroutines stop at every request; nothing runs by itself. Beside them act a
scheduler that binds what it decided a while ago, a machine controller, an autoscaler and nodes that come and go.
"""

import copy
import random
from collections.abc import Callable, Coroutine, Generator, Iterator
from functools import partial
from typing import Any

import msgspec

from cockpit.actions.conduct import Differs
from cockpit.actions.planning import Planning, PoolTerms
from cockpit.actions.pool_lease import release_call
from cockpit.actions.reclaim_nodes import NodeTerms, plan_nodes
from cockpit.actions.replan import carry_replanned
from cockpit.actions.scale import scale_as_now
from cockpit.clock import ManualClock
from cockpit.errors import CockpitError, Refused
from cockpit.kube.answer import ApiAnswer
from cockpit.kube.decode.decoders import NODE, POD, machine_decoder, pool_decoder
from cockpit.kube.resource import Resource
from cockpit.model.batch import Batch
from cockpit.model.plan import Call, Hold, Plan
from cockpit.model.record import Kind
from cockpit.pools.index import pool_named
from cockpit.store.store import Store
from tests.unit.actions.builders import Lines, newer, refused

NS = "capi"
CAPI = "cluster.x-k8s.io/v1beta1"
OWNER_PATH = f"/apis/{CAPI}/namespaces/{NS}/machinedeployments/h100"
MACHINES = f"/apis/{CAPI}/namespaces/{NS}/machines"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
POOL = pool_decoder(Resource("cluster.x-k8s.io", "v1beta1", "machinedeployments", "MachineDeployment", True))
MACHINE = machine_decoder(Resource("cluster.x-k8s.io", "v1beta1", "machines", "Machine", True))
DELETE_MACHINE = "cluster.x-k8s.io/delete-machine"
START_SECONDS = 1_790_000_000.0
MAXIMUM = 6
BIND_SECONDS = 4.0
"""A scheduler binds what it decided at most so long after."""
Tree = dict[str, Any]


class Pause:
    """A request on its way: whoever steps the coroutine decides when it arrives."""

    def __await__(self) -> Generator[None, None, None]:
        yield


class Server:
    """Objects by path."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.objects: dict[str, Tree] = {}
        self.version = 100
        self.uids = 0
        self.log: list[str] = []
        self.sizes: list[tuple[str, int]] = []  # (who, size) of each write of the pool's size

    def put(self, path: str, tree: Tree) -> None:
        self.uids += 1
        tree["metadata"] |= {"uid": f"uid-{self.uids}"}
        self.objects[path] = tree
        self.touch(path)

    def touch(self, path: str) -> None:
        self.version += 1
        self.objects[path]["metadata"]["resourceVersion"] = str(self.version)

    def under(self, prefix: str) -> Iterator[tuple[str, Tree]]:
        return ((path, tree) for path, tree in self.objects.items() if path.startswith(prefix))

    # ---- what cockpits ask and send

    def read(self, path: str, query: Any = ()) -> ApiAnswer:
        if path == "/api/v1/pods":
            node = dict(query)["fieldSelector"].removeprefix("spec.nodeName=")
            items = [one for _, one in self.under("/pods/") if one["spec"].get("nodeName") == node]
            return _answer(200, {"items": items})
        found = self.objects.get(path)
        return _answer(404, {}) if found is None else _answer(200, found)

    def write(self, who: str, call: Call) -> None:
        """Raises Refused as `cockpit.kube.calls.perform` does."""
        path = call.path.removesuffix("/scale")
        if call.method == "POST":
            path = f"{path}/{call.body['metadata']['name']}"
            if path in self.objects:
                raise refused(409, "AlreadyExists", "exists")
            self.put(path, copy.deepcopy(call.body))
            return
        found = self.objects.get(path)
        if found is None:
            raise refused(404, "NotFound", "gone")
        if isinstance(call.body, list):
            self._json_patch(path, call.body)
            return
        guard = call.body.get("preconditions") or call.body["metadata"]
        if guard.get("uid") != found["metadata"]["uid"]:
            raise refused(409, "Conflict", "another uid")
        if guard.get("resourceVersion", found["metadata"]["resourceVersion"]) != _version(found):
            raise newer()
        if call.method == "DELETE":
            del self.objects[path]
            return
        change = {key: value for key, value in call.body.items() if key != "metadata"}
        notes = call.body["metadata"].get("annotations")
        _merge(found, change | ({"metadata": {"annotations": notes}} if notes else {}))
        self.touch(path)
        if path == OWNER_PATH:
            self.sizes.append((who, found["spec"]["replicas"]))

    def _json_patch(self, path: str, steps: list[Any]) -> None:
        tree = copy.deepcopy(self.objects[path])
        for one in steps:
            *parents, last = one["path"].strip("/").split("/")
            at = tree
            for key in parents:
                at = at[key]
            if one["op"] == "test" and at.get(last) != one["value"]:
                raise refused(422, "Invalid", "test failed")
            if one["op"] == "replace":
                at[last] = one["value"]
            elif one["op"] == "remove":
                at.pop(last, None)
        self.objects[path] = tree
        self.touch(path)


def _answer(status: int, tree: Any) -> ApiAnswer:
    return ApiAnswer(status, msgspec.json.encode(tree))


def _version(tree: Tree) -> str:
    return str(tree["metadata"]["resourceVersion"])


def _merge(tree: Tree, change: Tree) -> None:
    for key, value in change.items():
        if value is None:
            tree.pop(key, None)
        elif isinstance(value, dict):
            _merge(tree.setdefault(key, {}), value)
        else:
            tree[key] = value
