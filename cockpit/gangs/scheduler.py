"""The scheduler's sentence in plain words: pod conditions `PodScheduled` and `FailedScheduling` events.

kube-scheduler writes `0/N nodes are available: <count> <reason>, ... preemption: ...` or one sentence
without counts. Reasons contain dots and commas, and their wording moves between releases, so they are
matched by the tables below, never split blindly. Sources: kubernetes pkg/scheduler/framework/types.go
(FitError) and the plugins beside it; scheduler-plugins pkg/coscheduling; volcano pkg/scheduler/api;
karpenter pkg/controllers/provisioning/scheduling/events.go; cluster-autoscaler processors/status.
"""

import re
from typing import NamedTuple

from cockpit.gangs.sentence import counted, listed, one_line
from cockpit.model.devices import is_gpu_resource, resource_word

_HEAD = re.compile(r"0/(\d+) nodes are (?:un)?available: ?(.*)", re.DOTALL)
_PART = re.compile(r"(?:^|, )(\d+) (.*?)(?=, \d+ |$)", re.DOTALL)
_NOISE = re.compile(r"^(?:no new claims to deallocate|still not schedulable),\s*")
_TAIL = re.compile(r"[.,]?\s*(?:no new claims to deallocate,? ?)?\s*preemption: (.*)$", re.DOTALL)
# What a scheduler of gangs says in place of a node's reason: the pod itself would have had one.
_OF_THE_GROUP = re.compile(r"optimistic rejection|PodGroup not found", re.IGNORECASE)
_INSUFFICIENT = re.compile(r"Insufficient (\S+)", re.IGNORECASE)


class NodeCause(NamedTuple):
    """Why nodes are out: `id` as in the catalogue of causes, the words after "1 node" and "2 nodes"."""

    id: str
    pattern: re.Pattern[str]
    one: str
    many: str


def _cause(id_: str, pattern: str, one: str, many: str) -> NodeCause:
    return NodeCause(id_, re.compile(pattern, re.IGNORECASE), one, many)


NODE_CAUSES: tuple[NodeCause, ...] = (
    _cause("C4", r"too many pods|pod number exceeded", "is full of pods", "are full of pods"),
    _cause("C6", r"taints? .*node\.kubernetes\.io/not-ready", "is not ready", "are not ready"),
    _cause("C6", r"taints? .*node\.kubernetes\.io/unreachable", "is unreachable", "are unreachable"),
    _cause(
        "C6",
        r"taints? .*node\.kubernetes\.io/(?P<what>memory|disk|pid)-pressure",
        "is under {what} pressure",
        "are under {what} pressure",
    ),
    _cause("C6", r"taints? .*node\.kubernetes\.io/network-unavailable", "has no network", "have no network"),
    _cause("C6", r"taints? .*node\.kubernetes\.io/out-of-service", "is out of service", "are out of service"),
    _cause(
        "C7",
        r"were unschedulable|taints? .*node\.kubernetes\.io/unschedulable",
        "is cordoned",
        "are cordoned",
    ),
    _cause("C5", r"taints? \{(?P<what>[^:}]+)", "is tainted {what}", "are tainted {what}"),
    _cause("C5", r"untolerated taint|had taint", "is tainted", "are tainted"),
    _cause(
        "C8",
        r"didn't match (?:pod's )?node (?:affinity|selector)",
        "is ruled out by the node selector",
        "are ruled out by the node selector",
    ),
    _cause("C9", r"anti-affinity", "is kept free by anti-affinity", "are kept free by anti-affinity"),
    _cause("C9", r"pod affinity", "lacks the pods it wants beside it", "lack the pods it wants beside it"),
    _cause("C10", r"topology spread", "would break the topology spread", "would break the topology spread"),
    _cause("C11", r"free ports", "has its host port taken", "have its host port taken"),
    _cause(
        "C14",
        r"volume(?:'s)? node affinity|persistent volumes to bind",
        "cannot reach its volume",
        "cannot reach its volume",
    ),
    _cause("C15", r"max volume count", "can attach no more volumes", "can attach no more volumes"),
    _cause("C15", r"free storage", "lacks storage", "lack storage"),
    _cause("C15", r"ReadWriteOncePod", "uses its volume already", "use its volume already"),
    _cause(
        "C17",
        r"cannot allocate all claims",
        "cannot serve its device claims",
        "cannot serve its device claims",
    ),
    _cause("C18", r"resourceclaim not available", "lacks the claimed device", "lack the claimed device"),
    _cause("B17", r"optimistic rejection", "waits for its group", "wait for its group"),
)


class WholeCause(NamedTuple):
    """A sentence without counts. `is_consequence` marks members that only wait for a sibling."""

    id: str
    pattern: re.Pattern[str]
    words: str
    is_consequence: bool = False


def _whole(id_: str, pattern: str, words: str, is_consequence: bool = False) -> WholeCause:
    return WholeCause(id_, re.compile(pattern, re.IGNORECASE), words, is_consequence)


WHOLE_CAUSES: tuple[WholeCause, ...] = (
    _whole("C25", r"no nodes available to schedule", "the cluster has no node at all"),
    _whole("C12", r"unbound immediate PersistentVolumeClaims", "its volume claim is not bound yet"),
    _whole("C13", r'persistentvolumeclaim "(?P<a>[^"]+)" not found', "its volume claim {a} does not exist"),
    _whole(
        "C13",
        r'persistentvolumeclaim "(?P<a>[^"]+)" is being deleted',
        "its volume claim {a} is being deleted",
    ),
    _whole(
        "C13", r"bound to non-existent persistentvolume", "its volume is gone: the claim points to nothing"
    ),
    _whole(
        "C16",
        r"ResourceClaim not created yet|resource controller to create the resourceclaim",
        "its device claim was not made yet",
    ),
    _whole("C16", r'resourceclaim "(?P<a>[^"]+)" not found', "its device claim {a} does not exist"),
    _whole(
        "C19",
        r"device class (?P<a>\S+) does not exist",
        "device class {a} does not exist: is the driver installed?",
    ),
    _whole("C17", r"cannot allocate all claims", "no node can serve all its device claims"),
    _whole("C18", r"resourceclaim not available", "the device it claims is in use elsewhere"),
    _whole("C23", r"non-empty scheduling gates", "held by a scheduling gate"),
    _whole(
        "B16",
        r"cannot find enough sibling pods, current pods number: (?P<a>\d+), minMember of group: (?P<b>\d+)",
        "its group has {a} of {b} pods",
    ),
    _whole(
        "B16", r"Not enough valid tasks.*valid: (?P<a>\d+), min: (?P<b>\d+)", "its group has {a} of {b} pods"
    ),
    _whole("B16", r"waiting for minCount pods", "its group does not have all its pods yet", True),
    _whole(
        "B22",
        r"minCount \((?P<a>\d+)\) cannot be satisfied: (?P<b>\d+) scheduled, (?P<c>\d+) remaining",
        "its group needs {a} pods placed: {b} are, {c} find no node",
    ),
    _whole(
        "B20",
        r'waiting for pod\'s pod group "(?P<a>[^"]+)" to appear',
        "its pod group {a} does not exist yet",
    ),
    _whole("B20", r"PodGroup not found", "its pod group does not exist"),
    _whole("B19", r"gated pods in the same PodGroup", "another pod of its group is gated", True),
    _whole(
        "B19",
        r"podGroup (?P<a>\S+) failed recently",
        "its group {a} failed and waits to be tried again",
        True,
    ),
    _whole("B19", r"resource gap:", "its group asks for more than is free"),
    _whole(
        "B17", r"due to Pod (?P<a>\S+) is unschedulable", "its group waits for {a}, which finds no node", True
    ),
    _whole(
        "B17",
        r"optimistic rejection|pod group is unschedulable",
        "its group cannot be placed as a whole",
        True,
    ),
    _whole("B18", r"rejection in Unreserve", "its group was not complete in time"),
    _whole("B22", r"waiting for preemption to complete", "waits for preempted pods to end", True),
    # Volcano counts what it knows of: none of 0, and of those that wait also what it has not looked at
    _whole("B16", r"\d+/0 tasks in gang unschedulable", "its group has no pods yet"),
    _whole(
        "B15",
        r"\d+/(?P<b>\d+) tasks in gang unschedulable.*Pending: .*?(?P<a>[1-9]\d*) Unschedulable",
        "{a} of {b} pods of its group find no node",
    ),
    _whole(
        "B15",
        r"\d+/(?P<b>\d+) tasks in gang unschedulable.*Pending: (?P<a>[1-9]\d*) Undetermined",
        "{a} of {b} pods of its group not looked at yet",
    ),
    _whole(
        "B15",
        r"(?P<a>\d+)/(?P<b>\d+) tasks in gang unschedulable",
        "{a} of {b} pods of its group find no node",
    ),
    _whole("B15", r"can possibly be assigned", "waits for the rest of its group", True),
    _whole("B21", r"ElasticQuota (?P<a>\S+) is more than Max", "elastic quota {a} is used up"),
    _whole("B21", r"total ElasticQuota used is more than min", "the elastic quotas are used up"),
    _whole(
        "C29",
        r"all available instance types exceed limits for nodepool(?:.*NodePool=(?P<a>[^)\s]+))?",
        "node pool {a} is at its limit",
    ),
    _whole("C29", r"no instance type has enough resources", "no machine type is large enough for it"),
    _whole("C29", r"incompatible requirements, key (?P<a>[^,\s]+)", "no node pool matches its selector {a}"),
    _whole("C27", r"max total nodes in cluster reached", "the autoscaler is at its limit for the cluster"),
    _whole(
        "C27", r"(?P<a>\d+) max node group size reached", "the autoscaler will not help: pool at its maximum"
    ),
    _whole("C27", r"in backoff after failed scale-up", "the last scale-up failed: the autoscaler backs off"),
    _whole("C28", r"pod triggered scale-up", "the autoscaler is adding a node for it"),
    _whole("C28", r"Pod should schedule on: (?P<a>\S+)", "waits for {a} to join"),
    _whole("C21", r"preemptionPolicy=Never", "may not preempt anybody and finds no room"),
    _whole("C22", r"terminating pod on the nominated node", "waits for a preempted pod to end"),
)


class SchedulerText(NamedTuple):
    """The sentence taken apart. `nodes` is N of "0/N", None where the head is missing."""

    nodes: int | None
    parts: tuple[tuple[int, str], ...]
    rest: str  # what stands without counts
    preemption: str


def parse(message: str) -> SchedulerText:
    """Take the scheduler's sentence apart; text of another form comes back whole in `rest`."""
    text = " ".join(message.split())
    tail = _TAIL.search(text)
    preemption = ""
    if tail is not None:
        preemption, text = tail.group(1), text[: tail.start()]
    head = _HEAD.search(text)
    if head is None:
        return SchedulerText(None, (), text, preemption)
    body = _NOISE.sub("", head.group(2)).rstrip(". ")
    parts = tuple((int(count), reason.strip(" .")) for count, reason in _PART.findall(body))
    return SchedulerText(int(head.group(1)), parts, "" if parts else body, preemption)


def plain(message: str, *, gpus: int = 0) -> str:
    """The sentence in plain words, at most 100 characters, with the scheduler's numbers.

    `gpus` is what one pod asks for. Text that no table knows comes back as it is, cut: never hidden,
    never guessed. An empty message stays empty.
    """
    if not message.strip():
        return ""
    text = parse(message)
    if not text.parts or all(_OF_THE_GROUP.search(reason) for _, reason in text.parts):
        whole = _whole_cause(text.rest) or _whole_cause(message)
        return one_line(whole or text.rest or message)
    phrases = _phrases(text)
    head = f"needs {counted(gpus, 'GPU')} on one node: " if gpus > 1 else ""
    if gpus == 1:
        head = "needs 1 GPU: "
    return listed(head or "no node takes it: ", phrases)


def is_consequence(message: str) -> bool:
    """True where the pod only waits for another member of its group; the cause stands on that one."""
    text = parse(message)
    if text.parts:
        return all(_OF_THE_GROUP.search(reason) for _, reason in text.parts)
    whole = _match(message)
    return whole is not None and whole.is_consequence


def names_gpus(message: str) -> bool:
    """True where some node is out for want of GPUs."""
    return any(_short_of(reason, gpus=True) for _, reason in parse(message).parts)


def _match(text: str) -> WholeCause | None:
    return next((cause for cause in WHOLE_CAUSES if cause.pattern.search(text)), None)


def _whole_cause(text: str) -> str:
    cause = _match(text)
    if cause is None:
        return ""
    found = cause.pattern.search(text)
    groups = {} if found is None else {name: value or "" for name, value in found.groupdict().items()}
    return " ".join(cause.words.format(**groups).split())


def _phrases(text: SchedulerText) -> list[str]:
    """One phrase a cause, GPUs first, then by how many nodes it rules out; equal words are added up."""
    sums: dict[tuple[str, str], int] = {}
    for count, reason in text.parts:
        words = _words(reason)
        sums[words] = sums.get(words, 0) + count
    ordered = sorted(sums.items(), key=lambda item: ("free GPUs" not in item[0][1], -item[1]))
    phrases: list[str] = []
    for (one, many), count in ordered:
        if phrases:  # the noun stands once
            noun = str(count)
        else:
            noun = f"all {count} nodes" if count == text.nodes and count > 1 else counted(count, "node")
        phrases.append(f"{noun} {one if count == 1 else many}")
    return phrases


def _words(reason: str) -> tuple[str, str]:
    short = _INSUFFICIENT.search(reason)
    if short is not None:
        resource = short.group(1).rstrip(".,")
        noun = resource_word(resource)
        noun = f"free {noun}" if is_gpu_resource(resource) else noun
        return f"lacks {noun}", f"lack {noun}"
    for cause in NODE_CAUSES:
        found = cause.pattern.search(reason)
        if found is not None:
            groups = found.groupdict()
            return cause.one.format(**groups), cause.many.format(**groups)
    reason = re.sub(r"^(?:node\(s\)|nodes?)\s+", "", reason)
    return reason, reason


def _short_of(reason: str, *, gpus: bool) -> bool:
    short = _INSUFFICIENT.search(reason)
    return short is not None and is_gpu_resource(short.group(1).rstrip(".,")) == gpus
