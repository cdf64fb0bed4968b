"""Several cases in one cluster: each on nodes of its own that the others' pods do not pass, all at one time,
and the schedulers' sentences as they count the nodes of all."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import NamedTuple

import msgspec

from cockpit.jobs.pod_templates import pod_templates
from cockpit.k8s.json_values import mapping, mappings
from tests.triage.builders import taint
from tests.triage.case import Case, Tree

TENANT = "example.com/tenant"
"""The label, or the key of the taint, by which nodes of the cases are told apart."""
CORDONED = "node(s) were unschedulable"
TAINTED = "node(s) had untolerated taint(s)"
UNSELECTED = "node(s) didn't match Pod's node affinity/selector"
SHORT = "Insufficient nvidia.com/gpu"
NO_VICTIMS = "No preemption victims found for incoming pod"
_HELPLESS = "Preemption is not helpful for scheduling"
_TIME = re.compile(r'"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?Z"')
_COUNTED = re.compile(r"0/(\d+) nodes are (un)?available: ([^.]+(?:\.(?!\s|$|,)[^.]*)*)")
_PART = re.compile(r"(\d+) (.+)")
_CLAIMS = "no new claims to deallocate"


class Clash(Exception):
    """Two cases that cannot be in one cluster, with the reason."""


class Change(NamedTuple):
    """A second fault put into all templates and waiting pods of a case: fields of a pod's spec, taints of its
    nodes, a claim that does not exist, or a device that no node offers."""

    selector: Mapping[str, str] = {}
    taints: tuple[str, ...] = ()
    claim: str = ""
    device: str = ""


NO_CHANGE = Change()


def moved(case: Case, now_seconds: float) -> Case:
    """The same case as if it were looked at then."""
    shift = timedelta(seconds=round(now_seconds - case.file.now))

    def later(found: re.Match[str]) -> str:
        at = datetime.strptime(found[1], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=UTC) + shift
        return f'"{at:%Y-%m-%dT%H:%M:%S}{found[2] or ""}Z"'

    objects = json.loads(_TIME.sub(later, json.dumps(dict(case.objects))))
    file = msgspec.structs.replace(case.file, now=now_seconds)
    return msgspec.structs.replace(case, objects=objects, file=file)


class Fence(Enum):
    """How the nodes of cases are told apart."""

    LABEL = "each case selects the label of its nodes"
    TAINT = "each case tolerates the taint of its nodes"
    GUARDED = "all but the subject, which stays as it was written, have and select a label, and are tainted"


class Beside(NamedTuple):
    """A neighbour. `is_inside`: on the subject's nodes, or with nodes like them; what waits of it finds the
    subject's nodes short of GPUs."""

    case: Case
    is_inside: bool = False


def fence_for(subject: Case, others: Sequence[Beside], wished: Fence) -> Fence:
    """The one wished, or labels: where a waiting pod tolerates every taint, a spread counts tainted nodes, or
    the subject was refused node by node, so that a taint of others would be a further reason."""
    is_refused = any(map(_is_refused_by_nodes, subject.objects.get("pods", ())))
    cases = [subject, *(one.case for one in others)]
    if is_refused or any(_tolerates_all(spec) for case in cases for spec in _waiting(case.objects)):
        return Fence.LABEL
    return wished


def merged(subject: Case, others: Sequence[Beside], fence: Fence, change: Change = NO_CHANGE) -> Case:
    """All of them in one cluster, seen as the subject is. Raises Clash."""
    cells = [_copy(subject), *(_copy(moved(one.case, subject.file.now)) for one in others)]
    is_inside = [True, *(one.is_inside for one in others)]
    for at, cell in enumerate(cells):
        _fence(cell, "tenant-0" if is_inside[at] else f"tenant-{at}", fence, is_subject=is_inside[at])
    _put_in(cells[0], change)
    for at, cell in enumerate(cells):
        foreign = [node for other in cells if other is not cell for node in other.get("nodes", ())]
        _recount(cell, foreign, change if at == 0 else NO_CHANGE, is_short=at > 0 and is_inside[at])
    objects: dict[str, list[Tree]] = {}
    for cell in cells:
        _add(objects, cell)
    cases = (subject, *(one.case for one in others))
    logs = {key: lines for one in reversed(cases) for key, lines in one.logs.items()}
    metrics = "".join(one.metrics for one in cases)
    return msgspec.structs.replace(subject, objects=objects, logs=logs, metrics=metrics)


def _copy(case: Case) -> dict[str, list[Tree]]:
    copied: dict[str, list[Tree]] = json.loads(json.dumps(dict(case.objects)))
    return copied


def _add(objects: dict[str, list[Tree]], cell: Mapping[str, list[Tree]]) -> None:
    """Put the objects of a cell in. Raises Clash where another one of that name is there already."""
    for label, trees in cell.items():
        there = objects.setdefault(label, [])
        known = {_key(tree): tree for tree in there}
        if trees and there and trees[0]["apiVersion"] != there[0]["apiVersion"]:
            raise Clash(f"{label} of two versions")
        for tree in trees:
            same = known.get(_key(tree))
            if same is None:
                there.append(tree)
            elif same.get("spec") != tree.get("spec") or label in ("nodes", "namespaces", "pods"):
                raise Clash(f"two {label} {_key(tree)}")


def _key(tree: Tree) -> str:
    meta = tree["metadata"]
    return f"{meta.get('namespace', '')}/{meta['name']}"


# ---- nodes of its own


def specs_of(cell: Mapping[str, list[Tree]]) -> Iterator[Tree]:
    """The specs of all pods and templates."""
    for label, trees in cell.items():
        for tree in trees:
            if label == "pods":
                yield tree["spec"]
            elif label.startswith("workloads.kueue"):
                for pod_set in mappings(mapping(tree.get("spec")).get("podSets")):
                    yield mapping(mapping(pod_set.get("template")).get("spec"))
            elif label not in ("events", "nodes"):
                for _, template in pod_templates(tree):
                    yield template.setdefault("spec", {})


def _waiting(cell: Mapping[str, list[Tree]]) -> list[Tree]:
    return [pod["spec"] for pod in cell.get("pods", ()) if not pod["spec"].get("nodeName")]


def _tolerates_all(spec: Tree) -> bool:
    spread = mappings(spec.get("topologySpreadConstraints"))  # counts tainted nodes, too
    return bool(spread) or any(not one.get("key") for one in mappings(spec.get("tolerations")))


def _is_refused_by_nodes(pod: Tree) -> bool:
    said = [one.get("message", "") for one in mappings(mapping(pod.get("status")).get("conditions"))]
    return any(_PART.match(_head(text)) for text in said)


def _fence(cell: Mapping[str, list[Tree]], word: str, fence: Fence, *, is_subject: bool) -> None:
    if fence is Fence.GUARDED and is_subject:
        return
    for node in cell.get("nodes", ()):
        if fence is not Fence.LABEL:
            node["spec"].setdefault("taints", []).append(taint(f"{TENANT}={word}:NoSchedule"))
        if fence is not Fence.TAINT:
            node["metadata"].setdefault("labels", {})[TENANT] = word
    for spec in specs_of(cell):
        if fence is not Fence.LABEL:
            allowed = {"key": TENANT, "operator": "Equal", "value": word, "effect": "NoSchedule"}
            spec.setdefault("tolerations", []).append(allowed)
        if fence is not Fence.TAINT:
            spec.setdefault("nodeSelector", {})[TENANT] = word


_COUNT_REQUESTS = ("workloads.kueue.x-k8s.io", "podgroups.scheduling.volcano.sh")


def _is_spoken_of(cell: Mapping[str, list[Tree]]) -> bool:
    return any("nodes are " in json.dumps(pod.get("status")) for pod in cell.get("pods", ()))


def _put_in(cell: dict[str, list[Tree]], change: Change) -> None:
    for node in cell.get("nodes", ()):
        if change.taints:
            node["spec"].setdefault("taints", []).extend(map(taint, change.taints))
    if change.device and (_is_spoken_of(cell) or any(cell.get(label) for label in _COUNT_REQUESTS)):
        raise Clash("another device is for others to count, too")
    for spec in specs_of(cell):
        if spec.get("nodeName"):
            continue
        if change.device:
            asked = spec["containers"][0].setdefault("resources", {})
            for part in ("requests", "limits"):
                asked.setdefault(part, {})[change.device] = "1"
        if change.selector:
            spec.setdefault("nodeSelector", {}).update(change.selector)
        if change.claim:
            volume = {"name": "extra", "persistentVolumeClaim": {"claimName": change.claim}}
            spec.setdefault("volumes", []).append(volume)
    if change.claim:
        cell.setdefault("persistentvolumeclaims", [])


# ---- the schedulers' sentences


def _recount(
    cell: Mapping[str, list[Tree]], foreign: Sequence[Tree], change: Change, *, is_short: bool
) -> None:
    own = cell.get("nodes", [])
    pods = {pod["metadata"]["name"]: pod["spec"] for pod in cell.get("pods", ())}
    usual = next(iter(_waiting(cell)), None) or next(specs_of(cell), {})
    for label, trees in cell.items():
        for tree in trees:
            name = tree["metadata"]["name"]
            if label == "events":
                name = mapping(tree.get("involvedObject") or tree.get("regarding")).get("name", "")
            if "nodes are " in json.dumps(tree):
                asked = pods.get(name, usual)
                reasons = [refused_by(node, asked) or (SHORT if is_short else "") for node in foreign]
                mine = [refused_by(node, asked) for node in own]
                _recounted(tree, mine, reasons, change)


def _recounted(value: Tree, own: Sequence[str], foreign: Sequence[str], change: Change) -> None:
    for key, item in value.items():
        if isinstance(item, str) and "nodes are " in item:
            value[key] = counted(item, own, foreign, change)
        elif isinstance(item, dict):
            _recounted(item, own, foreign, change)
        for each in mappings(item):
            _recounted(each, own, foreign, change)


def counted(text: str, own: Sequence[str], foreign: Sequence[str], change: Change = NO_CHANGE) -> str:
    """What a scheduler says of a pod where further nodes are there: `own` are the words by which the first
    filters refuse each node of its case ("" where they do not), `foreign` those of the others. Raises Clash
    where the pod could run on one of these."""
    whole = len(own) + len(foreign)
    if "" in foreign:
        raise Clash("a pod passes nodes of another case")
    is_counted = _PART.match(_head(text)) is not None
    if change.claim and is_counted:
        return f'0/{whole} nodes are available: persistentvolumeclaim "{change.claim}" not found. not found'
    if change != NO_CHANGE and all(own) and is_counted:
        said = sentence([*own, *foreign])
        return (
            f"0/{whole} nodes are available: {said}. {_CLAIMS}, preemption: 0/{whole} nodes are available: "
            f"{whole} {_HELPLESS}."
        )
    helpless = [NO_VICTIMS if reason == SHORT else _HELPLESS for reason in foreign]
    added = iter((foreign, helpless))

    def again(found: re.Match[str]) -> str:
        if int(found[1]) != len(own):
            return found[0]
        parts = [_PART.fullmatch(part) for part in found[3].split(", ")]
        more, said = next(added, helpless), found[3]
        if all(parts):
            said = sentence(more, [(part[2], int(part[1])) for part in parts if part])
        return f"0/{whole} nodes are {found[2] or ''}available: {said}"

    return _COUNTED.sub(again, text)


def _head(text: str) -> str:
    found = _COUNTED.search(text)
    return found[3] if found else ""


def sentence(reasons: Iterable[str], known: Iterable[tuple[str, int]] = ()) -> str:
    """The reasons with how many nodes each has, as a scheduler joins them."""
    counts: dict[str, int] = {}
    for reason, number in (*known, *((one, 1) for one in reasons)):
        counts[reason] = counts.get(reason, 0) + number
    return ", ".join(sorted(f"{number} {reason}" for reason, number in counts.items() if number))


def refused_by(node: Tree, spec: Tree) -> str:
    """Why the scheduler's first filters refuse the node, "" where they do not."""
    allowed = mappings(spec.get("tolerations"))
    marks = [one for one in mappings(node["spec"].get("taints")) if one.get("effect") != "PreferNoSchedule"]
    cordon = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    if node["spec"].get("unschedulable") and not _is_tolerated(cordon, allowed):
        return CORDONED
    if not all(_is_tolerated(one, allowed) for one in marks):
        return TAINTED
    labels = mapping(node["metadata"].get("labels"))
    wanted = mapping(spec.get("nodeSelector"))
    return "" if all(labels.get(key) == value for key, value in wanted.items()) else UNSELECTED


def _is_tolerated(mark: Tree, allowed: Iterable[Tree]) -> bool:
    return any(
        one.get("key", mark["key"]) == mark["key"]
        and one.get("effect") in (None, "", mark["effect"])
        and (one.get("operator") == "Exists" or one.get("value", "") == mark.get("value", ""))
        for one in allowed
    )
