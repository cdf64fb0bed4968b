"""A small API server in memory: trees by path with uids and resource versions, merge patches, JSON patches of
a Lease, the scale subresource, preconditions of deletes, and lists of pods by node: as much as plans about
pools meet. It notes the faults of whoever writes to it."""

import copy
from collections.abc import Generator, Iterator
from typing import Any

import msgspec

from cockpit.actions.pool_lease import LEASE_SECONDS, micro_time
from cockpit.clock import ManualClock
from cockpit.k8s.labels import AUTOSCALER_MAXIMUM
from cockpit.kube.answer import ApiAnswer
from cockpit.kube.decode.decoders import NODE, POD, Decoder, machine_decoder, pool_decoder
from cockpit.kube.decode.times import from_text
from cockpit.kube.resource import Resource
from cockpit.model.batch import Batch
from cockpit.model.plan import Call
from cockpit.store.store import Store
from tests.unit.actions.builders import newer, refused

NS = "capi"
CAPI = "cluster.x-k8s.io/v1beta1"
OWNER_PATH = f"/apis/{CAPI}/namespaces/{NS}/machinedeployments/h100"
MACHINES = f"/apis/{CAPI}/namespaces/{NS}/machines"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
POOL = pool_decoder(Resource("cluster.x-k8s.io", "v1beta1", "machinedeployments", "MachineDeployment", True))
MACHINE = machine_decoder(Resource("cluster.x-k8s.io", "v1beta1", "machines", "Machine", True))
_WATCHED = (
    ("/api/v1/nodes/", NODE),
    ("/pods/", POD),
    (OWNER_PATH, POOL),
    (MACHINES, MACHINE),
)
DELETE_MACHINE = "cluster.x-k8s.io/delete-machine"
START_SECONDS = 1_790_000_000.0
MAXIMUM = 6
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
        self.sizes: list[tuple[str, int]] = []  # (who, size) of each write of the pool's size by a cockpit
        self.faults: list[str] = []
        self._records: dict[tuple[str, str, str], Any] = {}
        self._seen: tuple[int, Store] | None = None
        self.skew_seconds = 0.0  # how far apart the clocks of two cockpits may be
        self._flights: set[str] = set()  # who has changed the size and not given the pool back
        self._replaced: set[str] = set()
        self._held: dict[str, float] = {}  # when each took or renewed the Lease, as it says

    def put(self, path: str, tree: Tree) -> None:
        self.uids += 1
        tree["metadata"] |= {"uid": f"uid-{self.uids}"}
        self.objects[path] = tree
        self.touch(path)

    def touch(self, path: str) -> None:
        self.version += 1
        self.objects[path]["metadata"]["resourceVersion"] = str(self.version)

    def drop(self, path: str) -> None:
        self.version += 1
        del self.objects[path]

    def under(self, prefix: str) -> Iterator[tuple[str, Tree]]:
        return ((path, tree) for path, tree in self.objects.items() if path.startswith(prefix))

    def store(self) -> Store:
        """What the watches of a session would hold now."""
        if self._seen is not None and self._seen[0] == self.version:
            return self._seen[1]
        store = Store()
        for prefix, decoder in _WATCHED:
            found = [self._record(path, tree, decoder) for path, tree in self.under(prefix)]
            store.apply(Batch(kind=decoder.kind, changed=tuple(found)))
        self._seen = (self.version, store)
        return store

    def _record(self, path: str, tree: Tree, decoder: Decoder) -> Any:
        key = (path, tree["metadata"]["uid"], tree["metadata"]["resourceVersion"])
        if key not in self._records:
            self._records[key] = decoder.from_json(msgspec.json.encode(tree))
        return self._records[key]

    # ---- what cockpits ask and send

    def read(self, path: str, query: Any = ()) -> ApiAnswer:
        if path == "/api/v1/pods":
            node = dict(query)["fieldSelector"].removeprefix("spec.nodeName=")
            items = [one for _, one in self.under("/pods/") if one["spec"].get("nodeName") == node]
            return answer(200, {"items": items})
        found = self.objects.get(path)
        return answer(404, {}) if found is None else answer(200, found)

    def write(self, who: str, call: Call) -> None:
        """Raises Refused as `cockpit.kube.calls.perform` does."""
        path = call.path.removesuffix("/scale")
        if call.method == "POST":
            path = f"{path}/{call.body['metadata']['name']}"
            if path in self.objects:
                raise refused(409, "AlreadyExists", "exists")
            self.put(path, copy.deepcopy(call.body))
            self._leased(who, call.body)
            return
        found = self.objects.get(path)
        if found is None:
            raise refused(404, "NotFound", "gone")
        if isinstance(call.body, list):
            self._json_patch(path, call.body)
            self._leased(who, call.body)
            return
        guard = call.body.get("preconditions") or call.body["metadata"]
        if guard.get("uid") != found["metadata"]["uid"]:
            raise refused(409, "Conflict", "another uid")
        if guard.get("resourceVersion", found["metadata"]["resourceVersion"]) != _version(found):
            raise newer()
        if call.method == "DELETE":
            self.drop(path)
            return
        change = {key: value for key, value in call.body.items() if key != "metadata"}
        notes, before = call.body["metadata"].get("annotations"), found.get("spec", {}).get("replicas", 0)
        was = copy.deepcopy(found)
        _merge(found, change | ({"metadata": {"annotations": notes}} if notes else {}))
        if found == was:  # a write that changes nothing makes no new version
            return
        if found.get("spec", {}).get("unschedulable") != was.get("spec", {}).get("unschedulable"):
            found["metadata"]["managedFields"] = [
                {"time": micro_time(self.clock.now()), "fieldsV1": {"f:spec": {"f:unschedulable": {}}}}
            ]
        self.touch(path)
        if path.startswith(LEASES):
            self._leased(who, call.body)
        if path == OWNER_PATH and "replicas" in change.get("spec", {}):
            self._resized(who, found, before)

    def _resized(self, who: str, owner: Tree, before: int) -> None:
        """A cockpit wrote the size: it may not grow beyond the maximum, nor while another change is in
        flight."""
        size, now = owner["spec"]["replicas"], self.clock.now()
        self.sizes.append((who, size))
        if size > maximum_of(owner) and size > before:
            self.faults.append(f"{who} set {size}, beyond the maximum of {maximum_of(owner)}")
        for other, held in self._held.items():
            if person(other) == person(who):
                continue  # the later one of two terminals replaces the change of the earlier
            if other in self._flights and now - held < LEASE_SECONDS - self.skew_seconds:
                self.faults.append(f"{who} set {size} while {other} has a change in flight")
        self._flights.add(who)

    def _leased(self, who: str, body: Any) -> None:
        """Whose change goes on is told by what each wrote itself, not by who the Lease names by now."""
        if isinstance(body, list) and any(one["op"] == "remove" for one in body):
            self._flights.discard(who)
            return
        if isinstance(body, dict):  # taken anew: what else this person has in flight is replaced
            self._replaced = {one for one in self._flights if person(one) == person(who)}
            self._flights -= self._replaced
        elif any(one["path"] == "/spec/acquireTime" and one["op"] == "replace" for one in body):
            self._flights |= self._replaced  # it goes on
            return
        renewed = body["spec"]["renewTime"] if isinstance(body, dict) else body[-1]["value"]
        self._held[who] = from_text(renewed) or 0.0

    def _json_patch(self, path: str, steps: list[Any]) -> None:
        tree = copy.deepcopy(self.objects[path])
        for one in steps:
            *parents, last = (key.replace("~1", "/") for key in one["path"].strip("/").split("/"))
            at = tree
            for key in parents:
                at = at[key]
            if one["op"] == "test" and at.get(last) != one["value"]:
                raise refused(422, "Invalid", "test failed")
            if one["op"] in ("add", "replace"):
                at[last] = one["value"]
            elif one["op"] == "remove":
                at.pop(last, None)
        self.objects[path] = tree
        self.touch(path)


def person(session: str) -> str:
    """Who sits there: `ann@a` at `ann@a#2`, too."""
    return session.partition("#")[0]


def maximum_of(owner: Tree) -> int:
    return int(owner["metadata"]["annotations"][AUTOSCALER_MAXIMUM])


def answer(status: int, tree: Any) -> ApiAnswer:
    return ApiAnswer(status, "application/json", msgspec.json.encode(tree))


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
