"""Changes of nodes and of the job itself, as the fit finds them: heal nodes, change a line, ask for less."""

import json
from collections.abc import Iterable
from typing import Final

import msgspec

from cockpit.fit.node_filters import Block
from cockpit.fit.remedies import DROPPED_BY, FitRemedy
from cockpit.fit.shape import Part
from cockpit.gangs.sentence import counted
from cockpit.k8s import labels as well_known
from cockpit.k8s.gpu_resources import resource_word
from cockpit.model.record import Kind, label
from cockpit.triage.changes.job_edits import edit_offer, in_each
from cockpit.triage.changes.line_drops import DROPS, other_selector
from cockpit.triage.changes.offer import (
    FREE,
    MONEY,
    OWN_LINE,
    OWN_SIZE,
    ChangeOffer,
    ChangeOffers,
    Desk,
    cockpit,
    member_word,
    node,
    short,
)
from cockpit.triage.verdict import Change, Subject

_OWN_LINES: Final = {
    "drop_selector": "without the node selector {}",
    "drop_affinity": "without its required node affinity",
    "unpin": "on another node than {}",
    "drop_port": "without the host port {}",
    "drop_apart": "without the anti-affinity over {}",
    "drop_near": "without the affinity over {}",
    "drop_spread": "without the topology spread over {}",
}
_KUBERNETES_OWN: Final = ("node.kubernetes.io", "node.cloudprovider.kubernetes.io")
"""Taints that say that something is wrong with the node: who tolerates memory pressure is evicted by it."""
_MOST_VALUES: Final = 4
_NAMED: Final = 3
_MOST_PARTIAL: Final = 2


def own_lines(desk: Desk) -> ChangeOffers:
    """An offer for each remedy of the fit that this room can make a command of."""
    short_part = next((at for at, one in enumerate(desk.answer.parts) if one.missing), 0)
    for way in desk.answer.remedies:
        part = desk.answer.parts[short_part].part
        parts = list(desk.wanted.parts)
        if way.part is not None:
            parts[short_part] = way.part
        is_of_the_pod = way.kind == "tolerate" and len(desk.wanted.pods) == 1  # one that is there takes it
        if not is_of_the_pod and (line := _line(desk, way.kind, way.detail)) is not None:
            yield line
            continue
        records = tuple((Kind.NODE, one) for one in way.nodes)
        then = msgspec.structs.replace(desk.base, parts=tuple(parts), records=records)
        found = _change(desk, way, part)
        if found is not None:
            yield ChangeOffer(found[0], found[1], then)
    yield from _other_values(desk, short_part)


def _line(desk: Desk, kind: str, detail: str) -> ChangeOffer | None:
    """Another line of the job by a command that makes it anew; None where its object was not read, and for
    taints that say that something is wrong with a node."""
    drop = DROPS.get(kind)
    is_own = kind == "tolerate" and detail.partition("/")[0] in _KUBERNETES_OWN
    if drop is None or is_own:
        return None
    words = "tolerating the taint {}" if kind == "tolerate" else _OWN_LINES[kind]
    found = in_each(desk, lambda place: drop(place, detail))
    cost = OWN_LINE + (2 if kind == "tolerate" else 4)
    return edit_offer(desk, cost, kind, f"made anew {words.format(detail)}", found)


def partial_lines(desk: Desk) -> ChangeOffers:
    """Lines of the job that keep it off most nodes, whether or not it would start without one of them."""
    for one in desk.answer.parts:
        alone: dict[Block, int] = {}
        for look in one.node_fits if one.missing else ():
            for block in dict.fromkeys(look.blocks):
                alone[block] = alone.get(block, 0) + 1
        for block in sorted(alone, key=lambda each: (-alone[each], each))[:_MOST_PARTIAL]:
            offer = _line(desk, DROPPED_BY.get(block.kind, ""), block.detail)
            if offer is not None:
                yield offer


def _change(desk: Desk, way: FitRemedy, part: Part) -> tuple[int, Change] | None:
    kind = way.kind
    if kind == "uncordon_node":
        names = tuple(one.name for one in way.nodes)
        command = cockpit("node.uncordon", *names)
        change = Change(
            kind=kind,
            words=f"uncordon {_named(names)}",
            verb="node.uncordon",
            command=command,
            target=node(names[0]),
        )
        return FREE + len(names), change
    if kind == "repair_node":
        names = tuple(one.name for one in way.nodes)
        words = f"bring {_named(names)} back to Ready"
        return MONEY + len(names), Change(
            kind=kind, words=words, command=("kubectl", "describe", "node", *names), target=node(names[0])
        )
    if kind == "tolerate":
        if way.detail.partition("/")[0] in _KUBERNETES_OWN:
            return None
        return OWN_LINE + 2, _tolerate(desk, way)
    if kind in _OWN_LINES:
        return OWN_LINE + 4, Change(
            kind=kind,
            words=_OWN_LINES[kind].format(way.detail),
            command=_edit(desk),
            target=desk.wanted.subject,
        )
    if any(pod.gang for pod in desk.wanted.pods):
        return None  # a copy of the job would have its pods in the same group
    if kind == "fewer_gpus" and way.part is not None:
        return _fewer_gpus(desk, part, way.part)
    if kind == "fewer_members" and way.part is not None:
        return _fewer_members(desk, part, way.part)
    return None  # more nodes: of which pool and by whom, `pools` tells


def _named(names: Iterable[str]) -> str:
    found = [short(one) for one in names]
    more = len(found) - _NAMED
    return ", ".join(found[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _edit(desk: Desk) -> tuple[str, ...]:
    """Nothing of the cockpit changes such a line: the object is edited, and made anew where it is
    immutable."""
    job, subject = desk.wanted.job, desk.wanted.subject
    if job is None:
        return ("kubectl", "edit", "pod", subject.name, "-n", subject.namespace)
    group = job.api_version.rpartition("/")[0]
    kind = job.kind.lower() + (f".{group}" if group else "")
    return ("kubectl", "edit", kind, job.name, "-n", job.namespace)


def _tolerate(desk: Desk, way: FitRemedy) -> Change:
    """A toleration may be added to a pod that is there; a job's template is edited."""
    key = way.detail.partition("=")[0]
    pods = desk.wanted.pods
    command = _edit(desk)
    if len(pods) == 1:
        patch = [{"op": "add", "path": "/spec/tolerations/-", "value": {"key": key, "operator": "Exists"}}]
        command = ("kubectl", "patch", "pod", pods[0].name, "-n", pods[0].namespace)
        command = (*command, "--type=json", "-p", json.dumps(patch))
    return Change(
        kind="tolerate",
        words=f"tolerate the taint {way.detail}",
        command=command,
        target=desk.wanted.subject,
    )


def _fewer_gpus(desk: Desk, part: Part, then: Part) -> tuple[int, Change]:
    each, before = then.shape.gpus, part.shape.gpus
    unit = resource_word(part.shape.gpu_resource, each)
    words = f"{each} {unit} instead of {before}"
    if part.count > 1:
        words = (
            f"{each} {unit} instead of {before} for each of its {counted(part.count, member_word(part.role))}"
        )
    change = Change(
        kind="fewer_gpus",
        words=words,
        verb="job.clone",
        command=cockpit("job.clone", desk.name, "--gpus", str(each)),
        target=desk.wanted.subject,
    )
    return OWN_SIZE + (before - each) * part.count, change


def _fewer_members(desk: Desk, part: Part, then: Part) -> tuple[int, Change]:
    job = desk.wanted.job
    there = 0 if job is None or job.wanted is None else max(0, job.wanted - part.count)
    after = there + then.count  # members that have a node stay
    # only these kinds may change their size after creation without being elastic (jobs' own rules)
    resizes = job is not None and job.kind == "Job" and job.api_version == "batch/v1"
    verb = "job.scale" if resizes else "job.clone"
    flag = ("--to", str(after)) if resizes else ("--workers", str(after))
    change = Change(
        kind="fewer_members",
        words=f"{counted(after, member_word(part.role))} instead of {there + part.count}",
        verb=verb,
        command=cockpit(verb, desk.name, *flag),
        target=desk.wanted.subject,
    )
    return OWN_SIZE + (part.count - then.count) * max(1, part.shape.gpus), change


def _other_values(desk: Desk, at: int) -> ChangeOffers:
    """The same selector with another value that nodes have: another pool, another kind of card."""
    one = desk.answer.parts[at]
    if not one.missing:
        return
    part = one.part
    for key, value in part.shape.node_selector:
        if key == well_known.HOSTNAME:
            continue
        values: dict[str, int] = {}
        for look in one.node_fits:
            other = label(look.node.labels, key)
            if other and other != value and look.room > 0:
                values[other] = values.get(other, 0) + look.room
        for other in sorted(values, key=lambda name: (-values[name], name))[:_MOST_VALUES]:
            pairs = tuple(
                (key, other) if name == key else (name, held) for name, held in part.shape.node_selector
            )
            found = in_each(desk, lambda place, key=key, other=other: other_selector(place, key, other))  # type: ignore[misc]
            change = _elsewhere(desk, key, value, other)
            anew = edit_offer(desk, OWN_LINE, change.kind, f"made anew {change.words}", found, change.target)
            if anew is not None:
                yield anew
                continue
            shape = msgspec.structs.replace(part.shape, node_selector=pairs)
            parts = list(desk.wanted.parts)
            parts[at] = Part(part.role, part.count, shape)
            then = msgspec.structs.replace(desk.base, parts=tuple(parts))
            yield ChangeOffer(OWN_LINE, change, then)


def _elsewhere(desk: Desk, key: str, value: str, other: str) -> Change:
    is_pool = any(key == one.pool_label for one in desk.view.store.records(Kind.NODE).values())
    what = f"pool {short(other)}" if is_pool else f"{key}={short(other)}"
    words = f"on {what} instead of {short(value)}"
    return Change(kind="other_pool", words=words, command=_edit(desk), target=Subject("pool", "", other))
