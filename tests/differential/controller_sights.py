"""What a controller play compares: the objects of one namespace and what was told, without what is chance."""

import json
import re
from collections.abc import Callable, Iterator
from difflib import unified_diff
from itertools import permutations
from typing import Any

from cockpit.kube.resource import EVENTS, JOBS, MPIJOBS, NODES, PODS, SERVICES, Resource
from cockpit.sim.resources import (
    BUDGETS,
    CONFIG_MAPS,
    CONTROLLER_REVISIONS,
    DAEMON_SETS,
    DEPLOYMENTS,
    PERSISTENT_VOLUME_CLAIMS,
    REPLICA_SETS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    SECRETS,
    STATEFUL_SETS,
)

Tree = dict[str, Any]
Sight = dict[str, Any]
List = Callable[[Resource], list[Tree]]

SEEN = (
    *(CONTROLLER_REVISIONS, NODES, PODS, JOBS, MPIJOBS, DEPLOYMENTS, REPLICA_SETS, DAEMON_SETS),
    *(BUDGETS, SERVICES, CONFIG_MAPS, SECRETS, STATEFUL_SETS),
    *(PERSISTENT_VOLUME_CLAIMS, RESOURCE_CLAIMS, RESOURCE_CLAIM_TEMPLATES),
)
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
        "statefulset-controller",
        "resource_claim",
    }
)


def differing(ours: Any, theirs: Any) -> str:
    """Lines of JSON that differ, `-` ours and `+` theirs."""
    before, after = (json.dumps(one, indent=1, sort_keys=True).splitlines() for one in (ours, theirs))
    return "\n".join(unified_diff(before, after, "ours", "theirs", n=6, lineterm=""))


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
        (STATEFUL_SETS, _workload),
        (PERSISTENT_VOLUME_CLAIMS, _claim),
        (RESOURCE_CLAIMS, _device_claim),
    ):
        shown = [levelled(show(tree), words) for tree in found[resource] if _is_of_the_play(tree)]
        plain[resource.plural] = ordered(shown)
    return plain


def exchanged(seen: Sight, alike: tuple[str, ...]) -> Iterator[Sight]:
    """The sight with these names in every order."""
    text = json.dumps(seen)
    for order in permutations(alike):
        # Through marks: the new name of one is the old name of another.
        changed = text
        for index, name in enumerate(alike):
            changed = changed.replace(name, f"<alike {index}>")
        for index, name in enumerate(order):
            changed = changed.replace(f"<alike {index}>", name)
        yield {plural: ordered(trees) for plural, trees in json.loads(changed).items()}


def ordered(trees: list[Tree]) -> list[Tree]:
    """In an order that hangs on nothing but what is in them."""
    return sorted(trees, key=lambda tree: json.dumps(tree, sort_keys=True))


def _is_of_the_play(tree: Tree) -> bool:
    return bool(tree["metadata"]["name"] != "kube-root-ca.crt")


def chances(found: dict[Resource, list[Tree]]) -> list[tuple[str, str]]:
    """(what is there by chance, what stands for it), longest first."""
    words: dict[str, str] = {}
    for resource, trees in found.items():
        for tree in trees:
            metadata = tree["metadata"]
            words[metadata["uid"]] = f"<uid of a {resource.kind}>"
            if metadata.get("generateName") and not _is_ordinal(metadata):
                words[metadata["name"]] = f"{metadata['generateName']}*"
            job = (metadata.get("labels") or {}).get("controller-uid")
            if job:
                words.setdefault(job, "<uid of a Job>")
            revision_hash = (metadata.get("labels") or {}).get("controller-revision-hash")
            if revision_hash:
                words.setdefault(revision_hash, "<hash>")
            owners = {owner["kind"] for owner in metadata.get("ownerReferences") or ()}
            if "revision" in tree and "StatefulSet" in owners:
                words[metadata["name"]] = f"<revision {tree['revision']}>"
            digest = (metadata.get("labels") or {}).get("pod-template-hash")
            revision = (metadata.get("annotations") or {}).get("deployment.kubernetes.io/revision")
            if digest and revision:
                words[digest] = f"<hash {revision}>"
    return sorted(words.items(), key=lambda item: -len(item[0]))


def _is_ordinal(metadata: Tree) -> bool:
    """The end of a StatefulSet's pod is a number, that of a generated name has five characters."""
    end = metadata["name"].removeprefix(metadata["generateName"])
    return end.isdigit() and len(end) < 5


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
        "taints": _taints(tree),
    }


def _taints(tree: Tree) -> list[Tree] | None:
    """In one order: two loops of the real controller manager write them, whichever comes first."""
    taints: list[Tree] | None = tree["spec"].get("taints")
    return taints and sorted(taints, key=lambda one: (one["key"], one["effect"]))


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
        "device claims": _made_claims(tree["status"].get("resourceClaimStatuses")),
    }


def _made_claims(entries: list[Tree] | None) -> list[Tree]:
    """Without the generated ends: a claim that is gone is in no list that would name them."""
    plain = [{**entry, "resourceClaimName": entry["resourceClaimName"][:-5]} for entry in entries or ()]
    return sorted(plain, key=lambda entry: str(entry["name"]))


def _claim(tree: Tree) -> Tree:
    """Without the finalizer that an admission plugin of the real server adds."""
    return {"head": {**_head(tree), "finalizers": None}, "spec": tree["spec"]}


def _device_claim(tree: Tree) -> Tree:
    notes = tree["metadata"].get("annotations")
    return {**_status(tree), "annotations": notes, "spec": tree["spec"]}


def _pod_spec(spec: Tree) -> Tree:
    shown = {
        key: spec.get(key) for key in ("hostname", "subdomain", "restartPolicy", "dnsConfig", "affinity")
    }
    volumes = [v for v in spec.get("volumes") or () if not v["name"].startswith("kube-api-access")]
    # a StatefulSet adds those of its claims in the order of a map of Go: another one for each pod
    shown["volumes"] = sorted(volumes, key=lambda v: v["name"] if "persistentVolumeClaim" in v else "~")
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


_RACE = re.compile(r"^worker pod created failed: pods \S+ already exists$")
"""mpi-operator makes a worker again while its informer does not know of it yet, and takes it then."""


def events(listed: List) -> list[str]:
    """What the controllers told, each once."""
    lines = set()
    for event in listed(EVENTS):
        component = (event.get("source") or {}).get("component") or event.get("reportingComponent", "")
        if component not in COMPONENTS or _RACE.search(event["message"]):
            continue
        about = event["involvedObject"]
        where = f"{about['kind']}/{about['name']}"
        line = f"{event['type']} {event['reason']} {where} {event['message']} [{component}]"
        # In how many steps a rollout goes is chance, and which of several daemons a play ends.
        line = re.sub(r"(Scaled \w+ replica set \S+) from \d+ to \d+", r"\1", line)
        line = re.sub(r" on node \S+,", " on node *,", line)
        lines.add(_RANDOM_END.sub(r"\1-*", _HASH.sub("web-<hash>", line)))
    return sorted(lines)
