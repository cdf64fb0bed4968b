"""The two sides of a controller play: ours in this process, and an API server with the real controllers."""

import asyncio
import json
import re
import time
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from difflib import unified_diff
from random import Random
from typing import Any

from cockpit.clock import ManualClock
from cockpit.kube.resource import EVENTS, JOBS, MPIJOBS, NAMESPACES, NODES, PODS, SERVICES, Resource
from cockpit.sim.actors.controllers.budgets import Budgets
from cockpit.sim.actors.controllers.deployment.deployments import Deployments
from cockpit.sim.actors.controllers.garbage import BUILT_IN, Garbage
from cockpit.sim.actors.controllers.job.jobs import Jobs
from cockpit.sim.actors.controllers.leftovers import FinishedJobs
from cockpit.sim.actors.controllers.mpijob.mpijobs import MpiJobs
from cockpit.sim.actors.controllers.namespaces import NamespaceEnd
from cockpit.sim.actors.controllers.nodes.daemon_sets import DaemonSets
from cockpit.sim.actors.controllers.nodes.lifecycle import NodeLifecycle
from cockpit.sim.actors.controllers.nodes.taint_eviction import TaintEviction
from cockpit.sim.actors.controllers.replica_sets import ReplicaSets
from cockpit.sim.engine import Engine
from cockpit.sim.local_port import LocalPort
from cockpit.sim.port import PatchType
from cockpit.sim.resources import BUDGETS, CONFIG_MAPS, DAEMON_SETS, DEPLOYMENTS, REPLICA_SETS, SECRETS
from cockpit.sim.server.assembly import assemble
from cockpit.sim.server.kinds import Kind
from cockpit.sim.times import rfc3339
from tests.bed.api import MERGE, Api

STRATEGIC = "application/strategic-merge-patch+json"
Tree = dict[str, Any]
Sight = dict[str, Any]
List = Callable[[Resource], list[Tree]]

SEEN = (
    *(NODES, PODS, JOBS, MPIJOBS, DEPLOYMENTS, REPLICA_SETS, DAEMON_SETS),
    *(BUDGETS, SERVICES, CONFIG_MAPS, SECRETS),
)
BY_KIND = {one.kind: one for one in SEEN}
BY_PLURAL = {one.plural: one for one in SEEN}
COMPONENTS = frozenset(
    {
        "job-controller",
        "mpi-job-controller",
        "replicaset-controller",
        "deployment-controller",
        "controllermanager",
        "daemonset-controller",
        "node-controller",
        "taint-eviction-controller",
    }
)
_PATIENCE_SECONDS = 25.0
_STEP_SECONDS = 1.2


class Ours:
    """The embedded server with our controllers; records what it shows at every look."""

    def __init__(self, space: str, *, settle_seconds: float = 15.0) -> None:
        """`settle_seconds` pass after each step."""
        self.space = space
        self._settle_seconds = settle_seconds
        self.sights: list[Sight] = []
        self._loop = asyncio.new_event_loop()
        self._clock = ManualClock()
        operations = assemble(self._clock, Random(1)).operations
        operations.kinds.add(Kind(resource=MPIJOBS, has_status=True, has_generation=True, is_custom=True))
        self._port = LocalPort(operations)
        actors = [
            Jobs(),
            MpiJobs(),
            Deployments(),
            ReplicaSets(),
            Budgets(),
            FinishedJobs(),
            DaemonSets(),
            NodeLifecycle(),
            TaintEviction(),
            NamespaceEnd(),
            Garbage((*BUILT_IN, MPIJOBS)),
        ]
        self._engine = Engine(LocalPort(operations), self._clock, Random(2), actors)
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}
        self._do(self._port.create(NAMESPACES, namespace))
        self._do(self._engine.start())

    def close(self) -> None:
        self._loop.close()

    def make(self, tree: Tree) -> None:
        resource = BY_KIND[tree["kind"]]
        self._do(self._port.create(resource, tree, self.space if resource.namespaced else ""))
        self._settle()

    def change(self, plural: str, name: str, patch: Tree) -> None:
        resource = BY_PLURAL[plural]
        self._do(self._port.patch(resource, self.space if resource.namespaced else "", name, patch))
        self._settle()

    def remove(self, plural: str, name: str, propagation: str = "Background") -> None:
        self._do(self._port.delete(BY_PLURAL[plural], self.space, name, propagation=propagation))
        self._settle()

    def pods(self, prefix: str) -> list[str]:
        return alive(self._list(PODS), prefix)

    def become(self, *names: str, **status: Any) -> None:
        patch = {"status": dated(status, self._clock.now())}
        for name in names:
            self._do(self._port.patch(PODS, self.space, name, patch, subresource="status"))
        self._settle()

    def look(self) -> None:
        self.sights.append(sight(self._list))

    def events(self) -> list[str]:
        return events(self._list)

    def place(self) -> None:
        for name, node in unplaced(self._list(PODS)):
            self._do(self._port.bind(self.space, name, node))
        self._settle()

    def bury(self) -> None:
        for name in deleting(self._list(PODS)):
            self._do(self._port.delete(PODS, self.space, name, grace_seconds=0))
        self._settle()

    def beat(self, *nodes: str) -> None:
        for name in nodes:
            patch = {"status": {"conditions": [ready(self._clock.now())]}}
            self._do(self._port.patch(NODES, "", name, patch, type=PatchType.STRATEGIC, subresource="status"))

    def wait(self, seconds: float) -> None:
        self._do(self._engine.advance(seconds))

    def _list(self, resource: Resource) -> list[Tree]:
        where = self.space if resource.namespaced else ""
        return of_space(self._do(self._port.list(resource, where)), self.space)

    def _settle(self) -> None:
        self._do(self._engine.advance(self._settle_seconds))

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run_until_complete(work)


class Theirs:
    """A real API server with the real controllers: at every look it must come to show what ours showed."""

    def __init__(self, api: Api, space: str, sights: list[Sight], told: list[str]) -> None:
        self.space = space
        self._api = api
        self._sights = iter(sights)
        self._expected: Sight = {}
        self._told = told
        self._has_mpi = any(one["name"] == "kubeflow.org" for one in api.get("/apis")["groups"])
        api.create("/api/v1/namespaces", {"metadata": {"name": space}})

    def make(self, tree: Tree) -> None:
        self._api.create(BY_KIND[tree["kind"]].path(self.space), tree)
        time.sleep(_STEP_SECONDS)

    def change(self, plural: str, name: str, patch: Tree) -> None:
        self._api.merge(BY_PLURAL[plural].path(self.space, name), patch)
        time.sleep(_STEP_SECONDS)

    def remove(self, plural: str, name: str, propagation: str = "Background") -> None:
        self._api.delete(BY_PLURAL[plural].path(self.space, name), {"propagationPolicy": propagation})
        time.sleep(_STEP_SECONDS)

    def pods(self, prefix: str) -> list[str]:
        return alive(self._list(PODS), prefix)

    def become(self, *names: str, **status: Any) -> None:
        patch = {"status": dated(status, datetime.now(UTC).timestamp())}
        for name in names:
            reply = self._api.request(
                "PATCH", PODS.path(self.space, name, "status"), patch, content_type=MERGE
            )
            # A rollout may have taken a pod away as soon as another was ready.
            assert reply.status in (200, 404), reply.body
        time.sleep(_STEP_SECONDS)

    def look(self) -> None:
        expected = next(self._sights)
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while (seen := sight(self._list)) != expected and time.monotonic() < deadline:
            time.sleep(0.3)
        assert expected == seen, differing(expected, seen)

    def check_events(self) -> None:
        deadline = time.monotonic() + _PATIENCE_SECONDS / 5
        while (seen := events(self._list)) != self._told and time.monotonic() < deadline:
            time.sleep(0.3)
        assert self._told == seen, differing(self._told, seen)

    def place(self) -> None:
        for name, node in unplaced(self._list(PODS)):
            target = {"apiVersion": "v1", "kind": "Node", "name": node}
            self._api.create(
                PODS.path(self.space, name, "binding"), {"metadata": {"name": name}, "target": target}
            )
        time.sleep(_STEP_SECONDS)

    def bury(self) -> None:
        for name in deleting(self._list(PODS)):
            self._api.delete(PODS.path(self.space, name), {"gracePeriodSeconds": 0})
        time.sleep(_STEP_SECONDS)

    def beat(self, *nodes: str) -> None:
        for name in nodes:
            patch = {"status": {"conditions": [ready(datetime.now(UTC).timestamp())]}}
            reply = self._api.request("PATCH", NODES.path("", name, "status"), patch, content_type=STRATEGIC)
            assert reply.status == 200, reply.body

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)

    def _list(self, resource: Resource) -> list[Tree]:
        if resource == MPIJOBS and not self._has_mpi:
            return []
        where = self.space if resource.namespaced else ""
        found = self._api.items(resource.path(where))
        for tree in found:
            tree.setdefault("kind", resource.kind)
        return of_space(found, self.space)


def differing(ours: Any, theirs: Any) -> str:
    """Lines of JSON that differ, `-` ours and `+` theirs."""
    before, after = (json.dumps(one, indent=1, sort_keys=True).splitlines() for one in (ours, theirs))
    return "\n".join(unified_diff(before, after, "ours", "theirs", n=6, lineterm=""))


def unplaced(pods: list[Tree]) -> list[tuple[str, str]]:
    """Pods of DaemonSets that are not bound, each with the node that it is meant for."""
    found = []
    for pod in pods:
        required = ((pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}).get(
            "requiredDuringSchedulingIgnoredDuringExecution"
        )
        if required and not pod["spec"].get("nodeName"):
            field = required["nodeSelectorTerms"][0]["matchFields"][0]
            found.append((pod["metadata"]["name"], field["values"][0]))
    return found


def deleting(pods: list[Tree]) -> list[str]:
    """Names of the pods that wait for their end."""
    return [pod["metadata"]["name"] for pod in pods if "deletionTimestamp" in pod["metadata"]]


def of_space(trees: list[Tree], space: str) -> list[Tree]:
    """Of what has no namespace, what the play made: its names begin with that of the play."""
    return [
        tree
        for tree in trees
        if tree["metadata"].get("namespace") or tree["metadata"]["name"].startswith(space)
    ]


def ready(now: float) -> Tree:
    """The condition of a node that was just heard of."""
    at = rfc3339(now)
    return {"type": "Ready", "status": "True", "lastHeartbeatTime": at, "lastTransitionTime": at}


def dated(status: Tree, now: float) -> Tree:
    """Where a status wants a time, it is now."""
    at = rfc3339(now)
    conditions = [{**c, "lastTransitionTime": at} for c in status.get("conditions", ())]
    containers = [
        {**c, "state": {"terminated": {**c["state"]["terminated"], "finishedAt": at}}}
        for c in status.get("containerStatuses", ())
    ]
    return {
        **status,
        **({"conditions": conditions} if conditions else {}),
        **({"containerStatuses": containers} if containers else {}),
    }


def alive(pods: list[Tree], prefix: str) -> list[str]:
    """Pods that have not ended, by index and name."""
    found = [
        pod["metadata"]["name"]
        for pod in pods
        if pod["metadata"]["name"].startswith(prefix)
        and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")
    ]
    return sorted(found)


def sight(listed: List) -> Sight:
    """Everything that is compared, without what differs by chance."""
    found = {resource: listed(resource) for resource in SEEN}
    words = chances(found)
    plain: Sight = {}
    for resource, show in (
        (JOBS, _job),
        (MPIJOBS, _status),
        (NODES, _node),
        (PODS, _pod),
        (DAEMON_SETS, _status),
        (DEPLOYMENTS, _workload),
        (REPLICA_SETS, _workload),
        (BUDGETS, _status),
        (SERVICES, _service),
        (CONFIG_MAPS, _config_map),
        (SECRETS, _secret),
    ):
        shown = [levelled(show(tree), words) for tree in found[resource] if _is_of_the_play(tree)]
        plain[resource.plural] = sorted(shown, key=lambda tree: json.dumps(tree, sort_keys=True))
    return plain


def _is_of_the_play(tree: Tree) -> bool:
    return bool(tree["metadata"]["name"] != "kube-root-ca.crt")


def chances(found: dict[Resource, list[Tree]]) -> list[tuple[str, str]]:
    """(what is there by chance, what stands for it), longest first."""
    words: dict[str, str] = {}
    for resource, trees in found.items():
        for tree in trees:
            metadata = tree["metadata"]
            words[metadata["uid"]] = f"<uid of a {resource.kind}>"
            if metadata.get("generateName"):
                words[metadata["name"]] = f"{metadata['generateName']}*"
            job = (metadata.get("labels") or {}).get("controller-uid")
            if job:
                words.setdefault(job, "<uid of a Job>")
            revision_hash = (metadata.get("labels") or {}).get("controller-revision-hash")
            if revision_hash:
                words[revision_hash] = "<hash>"
            digest = (metadata.get("labels") or {}).get("pod-template-hash")
            revision = (metadata.get("annotations") or {}).get("deployment.kubernetes.io/revision")
            if digest and revision:
                words[digest] = f"<hash {revision}>"
    return sorted(words.items(), key=lambda item: -len(item[0]))


_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def levelled(value: Any, words: list[tuple[str, str]]) -> Any:
    """A tree in which times and chances are replaced by words."""
    text = json.dumps(value)
    for old, new in words:
        text = text.replace(old, new)
    return json.loads(_TIME.sub("<time>", text))


def _head(tree: Tree) -> Tree:
    metadata = tree["metadata"]
    return {
        "name": metadata["name"],
        "labels": metadata.get("labels"),
        "finalizers": metadata.get("finalizers"),
        "owners": metadata.get("ownerReferences"),
        "is deleting": "deletionTimestamp" in metadata,
    }


def _status(tree: Tree) -> Tree:
    return {"head": _head(tree), "status": tree.get("status", {})}


def _job(tree: Tree) -> Tree:
    spec = {key: tree["spec"].get(key) for key in ("suspend", "backoffLimit", "parallelism", "completions")}
    template = {"metadata": {}, **tree["spec"]["template"]}
    return {
        **_status(tree),
        "spec": spec,
        "template": {"labels": template["metadata"].get("labels"), "spec": _pod_spec(template["spec"])},
    }


def _workload(tree: Tree) -> Tree:
    metadata, status = tree["metadata"], dict(tree.get("status", {}))
    # In how many steps a rollout went is chance; that all of it was seen is not.
    status["is up to date"] = status.pop("observedGeneration", 0) == metadata.get("generation")
    return {
        "head": _head(tree),
        "status": status,
        "annotations": metadata.get("annotations"),
        "replicas": tree["spec"]["replicas"],
    }


def _node(tree: Tree) -> Tree:
    return {
        "head": {**_head(tree), "labels": None},
        "conditions": _conditions(tree),
        "taints": tree["spec"].get("taints"),
    }


def _conditions(tree: Tree) -> list[str]:
    return [
        f"{c['type']} {c['status']} {c.get('reason', '')} | {c.get('message', '')}"
        for c in tree["status"].get("conditions") or ()
        if c["type"] != "PodScheduled"
    ]


def _pod(tree: Tree) -> Tree:
    owners = tree["metadata"].get("ownerReferences") or ()
    return {
        "head": _head(tree),
        "conditions": _conditions(tree),
        "tolerations": tree["spec"].get("tolerations")
        if any(o["kind"] == "DaemonSet" for o in owners)
        else None,
        "annotations": tree["metadata"].get("annotations"),
        "phase": tree["status"].get("phase"),
        "spec": _pod_spec(tree["spec"]),
    }


def _pod_spec(spec: Tree) -> Tree:
    shown = {
        key: spec.get(key) for key in ("hostname", "subdomain", "restartPolicy", "dnsConfig", "affinity")
    }
    shown["volumes"] = [v for v in spec.get("volumes") or () if not v["name"].startswith("kube-api-access")]
    shown["containers"] = [
        {
            **{key: container.get(key) for key in ("name", "image", "command", "args", "env")},
            "mounts": [
                mount
                for mount in container.get("volumeMounts") or ()
                if not mount["name"].startswith("kube-api-access")
            ],
        }
        for container in spec["containers"]
    ]
    return shown


def _service(tree: Tree) -> Tree:
    return {"head": _head(tree), "selector": tree["spec"]["selector"], "ip": tree["spec"]["clusterIP"]}


def _config_map(tree: Tree) -> Tree:
    return {"head": _head(tree), "data": tree["data"]}


def _secret(tree: Tree) -> Tree:
    return {"head": _head(tree), "type": tree["type"], "keys": sorted(tree["data"])}


_RANDOM_END = re.compile(
    r"\b((?:train|kept|web|dcgm|allreduce-launcher)(?:-[0-9]+)?(?:-<hash>)?)-[bcdf-hj-np-tv-xz2-9]{5}\b"
)
_HASH = re.compile(r"\bweb-[bcdf-hj-np-tv-xz2-9]{6,10}\b")


def events(listed: List) -> list[str]:
    """What the controllers told, each once."""
    lines = set()
    for event in listed(EVENTS):
        component = (event.get("source") or {}).get("component") or event.get("reportingComponent", "")
        if component not in COMPONENTS:
            continue
        about = event["involvedObject"]
        where = f"{about['kind']}/{about['name']}"
        line = f"{event['type']} {event['reason']} {where} {event['message']} [{component}]"
        # In how many steps a rollout goes is chance, and which of several daemons a play ends.
        line = re.sub(r"(Scaled \w+ replica set \S+) from \d+ to \d+", r"\1", line)
        line = re.sub(r" on node \S+,", " on node *,", line)
        lines.add(_RANDOM_END.sub(r"\1-*", _HASH.sub("web-<hash>", line)))
    return sorted(lines)
