"""Offers done by their own command, and whether the job then starts: its pods are bound by the scheduler."""

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from cockpit.model.finding import BETWEEN_COMMANDS, Change, Subject
from tests.bed.api import Api, ApiError
from tests.bed.machines import BOOTING
from tests.triage.bed_stage import Served
from tests.triage.builders import FAKE
from tests.triage.case import Tree
from tests.triage.kubectl_calls import KubectlCalls
from tests.triage.lesser import lesser, rest_of

START_SECONDS = 60.0
LESS_SECONDS = 8.0
"""For a job that has to stay where it is: an engine looks at it within a second."""
_COMMAND_SECONDS = 90.0
COCKPIT = Path(sys.executable).parent / "cockpit"
_MACHINE = ("scale_pool", "ask_nodes", "raise_maximum")
"""Kinds by which machines come: nothing here does that by itself."""
_OWNERS = ("Job", "MPIJob")


class NotApplied(Exception):
    """An offer that cannot be done here, with the reason."""


@dataclass(frozen=True)
class OfferGround:
    """A cluster on which offers are done. `kubectl` is its folder, "" where there is none."""

    api: Api
    served: Served
    kubeconfig: Path
    kubectl: str = ""

    def environment(self, home: str) -> dict[str, str]:
        """For commands; nothing of the caller's own configuration."""
        path = f"{self.kubectl}:{COCKPIT.parent}:{os.environ.get('PATH', os.defpath)}"
        folders = {"XDG_CONFIG_HOME": home, "XDG_STATE_HOME": home, "HOME": home}
        return {**os.environ, **folders, "KUBECONFIG": str(self.kubeconfig), "PATH": path}


def applied(steps: Sequence[Change], ground: OfferGround, space: str) -> None:
    """Do what an offer says, one step after the other. Raises NotApplied, or RuntimeError where a command
    fails."""
    for one in steps:
        _step(one, ground, space)


def _step(change: Change, ground: OfferGround, space: str) -> None:
    if change.kind in _MACHINE:
        raise NotApplied("needs a machine")
    if change.kind == "more_nodes":
        _more_nodes(change, ground)
    elif change.kind == "repair_node":
        _repaired(change, ground)
    elif change.kind == "wait_for":
        for name in change.words.removeprefix("wait for ").partition(" (")[0].split(" and "):
            _end(name, ground)
    elif change.command[:2] == ("kubectl", "apply"):
        _written(change, ground)
    elif ground.kubectl:
        _shell(change, ground)
    else:
        _calls(change, ground)


def _shell(change: Change, ground: OfferGround) -> None:
    """The line as one would type it."""
    line = " ".join(one if one in BETWEEN_COMMANDS else shlex.quote(one) for one in _agreed(change.command))
    with tempfile.TemporaryDirectory() as home:
        _checked(["sh", "-c", line], ground.environment(home))


def _calls(change: Change, ground: OfferGround) -> None:
    piped = ""
    calls = KubectlCalls(ground.api, ground.served)
    for words in _split(_agreed(change.command)):
        if words[0] == "cockpit":
            with tempfile.TemporaryDirectory() as home:
                _checked([str(COCKPIT), *words[1:]], ground.environment(home))
        elif words[0] == "echo":
            piped = words[1]
        else:
            piped = calls.run(words, piped)


def _agreed(command: Sequence[str]) -> list[str]:
    return [*command, "--yes"] if command[0] == "cockpit" else list(command)


def _split(command: Sequence[str]) -> Iterator[list[str]]:
    words: list[str] = []
    for one in command:
        if one in BETWEEN_COMMANDS:
            yield words
            words = []
        else:
            words.append(one)
    yield words


def _checked(argv: Sequence[str], environment: Mapping[str, str]) -> None:
    try:
        done = subprocess.run(
            argv, env=dict(environment), capture_output=True, text=True, timeout=_COMMAND_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"{shlex.join(argv)}: no end within {_COMMAND_SECONDS:.0f} s") from None
    if done.returncode:
        raise RuntimeError(f"{shlex.join(argv)}: {(done.stderr or done.stdout).strip()[:400]}")


def _end(key: str, ground: OfferGround) -> None:
    """The job is over: its pods hold nothing any more. Of a long name the middle may be left out."""
    body: dict[str, Any] = {"propagationPolicy": "Background", "gracePeriodSeconds": 0}
    for label in ("jobs.batch", "mpijobs.kubeflow.org"):
        for one in ground.api.items(ground.served.path(label)) if label in ground.served else ():
            space, name = one["metadata"]["namespace"], one["metadata"]["name"]
            if fnmatchcase(f"{space}/{name}", key.replace("…", "*")):
                ground.api.request("DELETE", ground.served.path(label, space, name), body)


def _more_nodes(change: Change, ground: OfferGround) -> None:
    """As many more of the kind as the offer says."""
    assert change.target is not None
    count = int(change.words.split()[0])
    nodes = ground.api.items(ground.served.path("nodes"))
    wanted = change.target
    alike = [
        one
        for one in nodes
        if one["metadata"]["name"] == wanted.name
        or (wanted.kind == "pool" and wanted.name in (one["metadata"].get("labels") or {}).values())
    ]
    like = max(alike, key=_is_ready)
    first = sum(f"{like['metadata']['name']}-more-" in one["metadata"]["name"] for one in nodes)
    for number in range(first, first + count):
        made = json.loads(json.dumps(like))
        name = f"{like['metadata']['name']}-more-{number}"
        kept = {field: like["metadata"].get(field) or {} for field in ("annotations", "labels")}
        kept["labels"]["kubernetes.io/hostname"] = name
        kept["annotations"] |= FAKE  # a machine that comes has a kubelet, whatever ails the one it is like
        made["metadata"] = {"name": name, **kept}
        taints = [
            one for one in made["spec"].get("taints") or () if not one["key"].startswith("node.kubernetes.io")
        ]
        made["spec"] = {"taints": taints} if taints else {}
        made["status"].pop("conditions", None)
        ground.api.create(ground.served.path("nodes"), made)


def _repaired(change: Change, ground: OfferGround) -> None:
    """The kubelet of each node that the offer describes says again that it is up."""
    for name in change.command[change.command.index("node") + 1 :]:
        held = {"metadata": {"annotations": {**FAKE, BOOTING: None}}}
        ground.api.merge(ground.served.path("nodes", name=name), held)


def _is_ready(node: Tree) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _written(change: Change, ground: OfferGround) -> None:
    """`kubectl apply -f NAME.yaml`: what somebody would write into that file."""
    target = change.target
    assert target is not None
    api, served = ground.api, ground.served
    if target.kind == "queue":
        kept = {"name": target.name, "namespace": target.namespace}
        behind = change.words.rpartition(", on ")[2]
        label = "localqueues.kueue.x-k8s.io"
        tree = {**served.stamp(label), "metadata": kept, "spec": {"clusterQueue": behind}}
        api.create(served.path(label, target.namespace), tree)
        return
    if target.kind != "claim":
        raise NotApplied(f"a {target.kind} is written by hand")
    for file in change.command:
        if file.endswith(".yaml"):
            _write_claim(file.removesuffix(".yaml"), target.namespace, ground)


def _write_claim(name: str, space: str, ground: OfferGround) -> None:
    api, served = ground.api, ground.served
    size = {"storage": "1Gi"}
    volume: Tree = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"of-{name}"},
        "spec": {
            "capacity": size,
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "",
            "hostPath": {"path": "/data"},
        },
    }
    claim: Tree = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": space},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "resources": {"requests": size},
            "storageClassName": "",
            "volumeName": f"of-{name}",
        },
    }
    if not ground.kubectl:  # nobody binds claims on an embedded cluster
        claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
        volume["spec"]["claimRef"] = {"name": name, "namespace": space}
    api.create(served.path("persistentvolumes"), volume)
    api.create(served.path("persistentvolumeclaims", space), claim)


# ---- whether it starts


def names_there(ground: OfferGround, space: str) -> set[str]:
    """Jobs and pods of the namespace: what comes later under another name is the job submitted again."""
    found: set[str] = set()
    for label in ("jobs.batch", "mpijobs.kubeflow.org", "pods"):
        if label in ground.served:
            items = ground.api.items(ground.served.path(label, space))
            found |= {one["metadata"]["name"] for one in items}
    return found


def wait_started(
    subject: Subject, before: set[str], ground: OfferGround, seconds: float = START_SECONDS
) -> str:
    """ "" once the subject, or the job that was submitted in its place, has all its pods on nodes; else what
    is still missing when patience ends."""
    path = ground.served.path("pods", subject.namespace)
    deadline = time.monotonic() + seconds
    missing = _missing(subject, before, ground)
    while missing and (left := deadline - time.monotonic()) > 0:
        version = ground.api.get(path)["metadata"]["resourceVersion"]
        missing = _missing(subject, before, ground)
        if not missing:
            break
        query = (
            ("watch", "1"),
            ("resourceVersion", version),
            ("timeoutSeconds", str(max(1, int(min(left, 10))))),
        )
        for _ in ground.api.lines(path, query=query, timeout_seconds=left + 10):
            missing = _missing(subject, before, ground)
            if not missing:
                return ""
    return missing


def _missing(subject: Subject, before: set[str], ground: OfferGround) -> str:
    """ "" where it has started."""
    told: list[str] = []
    for name, wanted in _candidates(subject, before, ground):
        pods = [one for one in _pods(ground, subject.namespace) if _is_of(one, name)]
        bound = [one for one in pods if one["spec"].get("nodeName")]
        if len(bound) >= wanted and len(bound) == len(pods):
            return ""
        told.append(f"{name}: {len(bound)} of {wanted} pods on nodes{_why(pods)}")
    return "; ".join(told) or f"no {subject.name}"


def _why(pods: Sequence[Tree]) -> str:
    for pod in pods:
        for one in (pod.get("status") or {}).get("conditions") or ():
            if one["type"] == "PodScheduled" and one["status"] == "False":
                return f" ({one.get('message', '')[:160]})"
    return ""


def _pods(ground: OfferGround, space: str) -> list[Tree]:
    done = ("Succeeded", "Failed")
    return [
        one
        for one in ground.api.items(ground.served.path("pods", space))
        if (one.get("status") or {}).get("phase") not in done and "deletionTimestamp" not in one["metadata"]
    ]


def _is_of(pod: Tree, name: str) -> bool:
    owners = [one["name"] for one in pod["metadata"].get("ownerReferences") or () if one["kind"] in _OWNERS]
    owners += [
        one["name"].rpartition("-")[0]  # a ReplicaSet is named after its Deployment
        for one in pod["metadata"].get("ownerReferences") or ()
        if one["kind"] == "ReplicaSet"
    ]
    own = pod["metadata"]["name"]
    return own == name or name in owners or f"{name}-launcher" in owners


def _candidates(subject: Subject, before: set[str], ground: OfferGround) -> Iterator[tuple[str, int]]:
    """Names under which the job may run now, and how many pods it then has."""

    def is_it(name: str) -> bool:
        return name == subject.name or name not in before

    counts: dict[str, Callable[[Tree], int]] = {
        "mpijobs.kubeflow.org": lambda spec: spec["mpiReplicaSpecs"]["Worker"]["replicas"],
        "jobs.batch": lambda spec: spec.get("parallelism", 1),
        "deployments.apps": lambda spec: spec.get("replicas", 1),
    }
    for label, count in counts.items():
        if label in ground.served:
            for one in ground.api.items(ground.served.path(label, subject.namespace)):
                name = one["metadata"]["name"]
                if is_it(name) and not one["metadata"].get("ownerReferences"):
                    yield name, count(one["spec"])
    for pod in _pods(ground, subject.namespace):
        if is_it(pod["metadata"]["name"]) and not pod["metadata"].get("ownerReferences"):
            yield pod["metadata"]["name"], 1


_WORKLOADS = "workloads.kueue.x-k8s.io"


def has_equal(subject: Subject, ground: OfferGround) -> bool:
    """True where another one in line is of the same second: either may come first, so that a number by which
    the job surely starts may be larger than one by which it starts by luck."""
    found = ground.api.items(ground.served.path(_WORKLOADS)) if _WORKLOADS in ground.served else []
    waiting = [one for one in found if "admission" not in (one.get("status") or {})]
    owners = {one["metadata"]["uid"]: one["metadata"].get("ownerReferences") or [] for one in waiting}
    mine = {uid for uid, some in owners.items() if any(one["name"] == subject.name for one in some)}
    times = {one["metadata"]["creationTimestamp"] for one in waiting if one["metadata"]["uid"] in mine}
    return any(
        one["metadata"]["uid"] not in mine and one["metadata"]["creationTimestamp"] in times
        for one in waiting
    )


STARTED = "started"
STARTED_SMALLEST = "started, with one less it did not"


def outcome(change: Change, subject: Subject, ground: OfferGround) -> str:
    """`started`, `not applied: WHY`, or what went wrong. Where an offer has a number, first one less of it is
    done, by which the job must not start."""
    before = names_there(ground, subject.namespace)
    less = () if has_equal(subject, ground) else lesser(change)
    steps = change.steps or (change,)
    try:
        if less:
            applied(less, ground, subject.namespace)
            if not wait_started(subject, before, ground, LESS_SECONDS):
                return f"TOO MUCH: one less of it starts the job: {' && '.join(_line(one) for one in less)}"
            for name in names_there(ground, subject.namespace) - before:
                _end(f"{subject.namespace}/{name}", ground)  # a copy that asked for one more
            steps = rest_of(change)
        applied(steps, ground, subject.namespace)
    except NotApplied as error:
        return f"not applied: {error}"
    except (RuntimeError, ApiError, ValueError) as error:
        return f"FAILED: {error}"
    missing = wait_started(subject, before, ground)
    if missing:
        return f"NOT STARTED: {missing}"
    return STARTED_SMALLEST if less else STARTED


def _line(change: Change) -> str:
    return shlex.join(change.command) or change.words
