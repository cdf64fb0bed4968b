"""Situations that people of the trade reported (`reports/`), all in one cluster: what is wrong in each, and
what its page has to say.

The files hold objects with absolute times, without uids, and without the words of the scheduler, which are
written here for all nodes together.
"""

import json
import re
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import yaml

from cockpit.model.finding import Subject
from tests.triage.case import Case, CaseFile, Recorded, Tree
from tests.triage.fixture_stage import collection
from tests.triage.night import counted_nodes
from tests.triage.shared_cluster import SHORT, moved, refused_by, sentence

FOLDER = Path(__file__).parent / "reports"
LOOK = datetime(2026, 11, 28, 6, 37, tzinfo=UTC)
_MADE = "2026-11-28T05:30:00Z"
_DEFAULT = "default-scheduler"
_SAID = "2026-11-28T06:20:00Z"
_HELPLESS = (
    "no new claims to deallocate, preemption: 0/<all> nodes are available: <all> Preemption is not helpful"
)


class Asked(NamedTuple):
    """A question and what the first line of its answer holds (`a|b` is either); `never` is nowhere in it."""

    subject: str
    space: str
    says: tuple[str, ...]
    never: tuple[str, ...] = ()


ASKED = {
    "kueue evicted it and never took its admission away": Asked(
        "job/mt-base", "lang", ("evicted", "16 GPUs"), ("put back",)
    ),
    "what waits behind it names the holder": Asked("job/mt-small", "lang", ("mt-base",), ("raise",)),
    "the queue that it holds is not well": Asked(
        "queue/lang-gpus", "lang", ("mt-base",), ("nothing is wrong",)
    ),
    "a RayCluster is suspended and its RayJob is not": Asked(
        "job/search-lr", "rl", ("search-lr-x7", "suspended")
    ),
    "a pod of Volcano's asks for more than any node has": Asked(
        "job/asr-small",
        "speech",
        ("9", "never|no node|largest"),
        ("admitted", "capability", "not what holds"),
    ),
    "the same before Volcano let its group in": Asked(
        "job/asr-large", "speech-big", ("12 GPUs", "never|no node|largest"), ("capability",)
    ),
    "its operator crashes": Asked("job/resnet-fit", "vision", ("training-operator", "12")),
    "a machine joined and its GPU never came: the pod": Asked(
        "pod/reply-0", "answers", ("rack-karp", "GPU"), ("Correct the selector", "to join")
    ),
    "a machine joined and its GPU never came: the pool": Asked(
        "pool/burst", "", ("rack-karp|burst-x4z",), ("nothing is wrong", "nobody waits")
    ),
    "a machine joined and its GPU never came: the node": Asked(
        "node/rack-karp", "", ("GPU",), ("nothing is wrong",)
    ),
    "all GPUs of a node are unhealthy: the node": Asked(
        "node/rack-zero", "", ("16 GPUs", "unhealthy"), ("nothing is wrong",)
    ),
    "all GPUs of a node are unhealthy: the pod": Asked(
        "pod/warm-up", "start", ("rack-zero", "unhealthy"), ("waits for the GPU driver", "Wait for the node")
    ),
    "half placed for a label that no node has": Asked(
        "job/roberta-ddp", "text", ("scratch=nvme",), ("wait for each other",)
    ),
    "half placed for a claim that is not bound": Asked(
        "job/ctr", "ads", ("ctr-3",), ("wait for each other",)
    ),
    "the GPU stack is stuck in an init container: the node": Asked(
        "node/rack-gpuop", "", ("toolkit", "driver-validation"), ("nothing is wrong",)
    ),
    "the GPU stack is stuck in an init container: the pod": Asked(
        "pod/needs-ring2",
        "ring",
        ("rack-gpuop", "toolkit|driver-validation|GPU stack"),
        ("Correct the selector",),
    ),
    "a preempted pod that a finalizer keeps": Asked(
        "job/grid-search", "grid", ("preempted", "rush-hour", "storage.corp/detach"), ("143", "Read the logs")
    ),
    "KAI finds no node with the share of a GPU": Asked(
        "pod/share-a", "shares", ("2000", "GPU memory"), ("not understood",)
    ),
    "a label promises a card: the node": Asked(
        "node/rack-promised", "", ("offers none",), ("nothing is wrong",)
    ),
    "a label promises a card: the job": Asked(
        "job/sky-worker", "sky", ("rack-promised",), ("Correct the selector",)
    ),
    "a pool that the cloud has no machines for": Asked(
        "pool/elastic-p5", "", ("stockout|capacity|no machine",), ("nothing is wrong", "nobody waits")
    ),
    "a pool that the cloud has no machines for: the pod": Asked(
        "pod/mistral-0", "mistral", ("elastic-p5", "no machine"), ("Correct the selector", "to join")
    ),
    "a pool whose machine never joins: the pod": Asked(
        "pod/digits",
        "digits-team",
        ("elastic-az-k2", "join failure"),
        ("Correct the selector", "Wait for the node", "to join"),
    ),
    "a pool whose machine never joins": Asked(
        "pool/elastic-az", "", ("elastic-az-k2|join",), ("nothing is wrong", "nobody waits")
    ),
}


def reports(now_seconds: float, instead: Mapping[str, list[Tree]] = MappingProxyType({})) -> Case:
    """All of them, as they would stand if they were looked at then; `instead` has the trees of some, by the
    number of the file."""
    trees: list[Tree] = []
    for path in sorted(FOLDER.glob("*.yaml")):
        trees += instead.get(path.name.partition("-")[0]) or yaml.safe_load_all(path.read_text())
    objects: dict[str, list[Tree]] = {}
    for number, tree in enumerate(_linked(trees), 1000):
        tree["metadata"].setdefault("resourceVersion", str(number))
        tree["metadata"].setdefault("creationTimestamp", _MADE)
        objects.setdefault(collection(tree), []).append(tree)
    for pod in objects["pods"]:
        if "nodeName" not in pod["spec"]:
            objects["events"] += _refused(pod, objects["nodes"])
    for label in ("pods", "events"):
        objects[label] = [counted_nodes(tree, len(objects["nodes"])) for tree in objects[label]]
    recorded = Recorded(source="fixture", script="reports", seed=0)
    file = CaseFile((), "", (), Subject("fleet", "", ""), (), LOOK.timestamp(), recorded)
    return moved(Case("reports", file, objects), now_seconds)


def _linked(trees: list[Tree]) -> Iterator[Tree]:
    """With uids, also where one names another."""
    by_name = {_key(tree["kind"], tree["metadata"]): tree for tree in trees}
    for key, tree in by_name.items():
        tree["metadata"].setdefault("uid", str(uuid.uuid5(uuid.NAMESPACE_DNS, key)))
    for tree in trees:
        space = tree["metadata"].get("namespace", "")
        for owner in tree["metadata"].get("ownerReferences", ()):
            owner["uid"] = by_name[_key(owner["kind"], {**owner, "namespace": space})]["metadata"]["uid"]
        about = tree.get("involvedObject")
        named = None if about is None else by_name.get(_key(about["kind"], about))
        if about is not None and named is not None:
            about["uid"] = named["metadata"]["uid"]
        found = re.search(r"<uid (\w+) (\S+)>", json.dumps(tree))
        uid = by_name[f"{found[1]} {found[2]}"]["metadata"]["uid"] if found else ""
        yield json.loads(re.sub(r"<uid \w+ \S+>", uid, json.dumps(tree)))


def _key(kind: str, meta: Tree) -> str:
    return f"{kind} {meta.get('namespace', '')}/{meta['name']}"


def _refused(pod: Tree, nodes: list[Tree]) -> list[Tree]:
    """Write what the default scheduler says into a pod that no node takes; its event."""
    status = pod.setdefault("status", {})
    status.setdefault("phase", "Pending")
    if pod["spec"].get("schedulerName", _DEFAULT) != _DEFAULT:
        return []
    if not status.get("conditions"):
        said = sentence([refused_by(node, pod["spec"]) or SHORT for node in nodes])
        text = f"0/<all> nodes are available: {said}. {_HELPLESS} for scheduling."
        mark = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": text}
        status["conditions"] = [{**mark, "lastTransitionTime": _MADE}]
    meta = pod["metadata"]
    about = {"apiVersion": "v1", "kind": "Pod", **{key: meta[key] for key in ("name", "namespace", "uid")}}
    return [
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": f"{meta['name']}.refused",
                "namespace": meta["namespace"],
                "uid": str(uuid.uuid5(uuid.NAMESPACE_DNS, f"event {meta['uid']}")),
                "resourceVersion": "5000",
                "creationTimestamp": _SAID,
            },
            "involvedObject": about,
            "reason": "FailedScheduling",
            "message": status["conditions"][0]["message"],
            "type": "Warning",
            "source": {"component": "default-scheduler"},
            "reportingComponent": "default-scheduler",
            "firstTimestamp": _MADE,
            "lastTimestamp": _SAID,
            "count": 9,
        }
    ]
