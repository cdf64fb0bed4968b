"""Changes of nodes and of the job itself, as the fit finds them: heal nodes, change a line, ask for less."""

from collections.abc import Iterable
from typing import Final

from cockpit.fit.node_filters import Block
from cockpit.fit.remedies import DROPPED_BY, FitRemedy
from cockpit.gangs.wording import short
from cockpit.k8s import labels as well_known
from cockpit.k8s.kubectl import json_patch
from cockpit.model.finding import Subject
from cockpit.model.record import Kind, label
from cockpit.pools.stage import takes_away
from cockpit.triage.changes.job_edits import (
    DROPS,
    edit_offer,
    fewer_gpus,
    fewer_members,
    in_each,
    other_selector,
)
from cockpit.triage.changes.offer import FREE, MONEY, OWN_LINE, ChangeOffers, Desk, made, node

_OWN_LINES: Final = {
    "drop_selector": "without the node selector {}",
    "drop_affinity": "without its required node affinity",
    "unpin": "on another node than {}",
    "drop_port": "without the host port {}",
    "drop_apart": "without the anti-affinity over {}",
    "drop_near": "without the affinity over {}",
    "drop_spread": "without the topology spread over {}",
    "tolerate": "tolerating the taint {}",
}
_KUBERNETES_OWN: Final = ("node.kubernetes.io", "node.cloudprovider.kubernetes.io")
"""Taints that say that something is wrong with the node: who tolerates memory pressure is evicted by it, and
who tolerates that the node goes is ended with it."""
_MOST_VALUES: Final = 4
_NAMED: Final = 3
_MOST_PARTIAL: Final = 2


def own_lines(desk: Desk) -> ChangeOffers:
    """An offer for each remedy of the fit that this room can make a command of."""
    at = next((at for at, one in enumerate(desk.answer.parts) if one.missing), 0)
    for way in desk.answer.remedies:
        if way.kind == "tolerate" and len(desk.wanted.pods) == 1 and not _says_ill_of_node(way.detail):
            yield from _tolerated(desk, way)
        elif way.kind in DROPS:
            yield from _line(desk, way.kind, way.detail)
        elif way.kind in ("uncordon_node", "repair_node"):
            yield from _healed(desk, way)
        elif way.part is not None and not any(pod.gang for pod in desk.wanted.pods):
            # else a copy of the job would have its pods in the same group
            of_size = {"fewer_gpus": fewer_gpus, "fewer_members": fewer_members}.get(way.kind)
            if of_size is not None:
                yield of_size(desk, desk.answer.parts[at].part, way.part)
    yield from _other_values(desk, at)


def _says_ill_of_node(taint: str) -> bool:
    return taint.partition("/")[0] in _KUBERNETES_OWN or takes_away(taint.partition("=")[0])


def _line(desk: Desk, kind: str, detail: str) -> ChangeOffers:
    """Another line of the job by a command that makes it anew; none where its object was not read, and for
    taints that say that something is wrong with a node."""
    drop = DROPS.get(kind)
    if drop is not None and not (kind == "tolerate" and _says_ill_of_node(detail)):
        found = in_each(desk, lambda place: drop(place, detail))
        cost = OWN_LINE + (2 if kind == "tolerate" else 4)
        yield from edit_offer(desk, cost, kind, f"made anew {_OWN_LINES[kind].format(detail)}", found)


def partial_lines(desk: Desk) -> ChangeOffers:
    """Lines of the job that keep it off most nodes, whether or not it would start without one of them."""
    for one in desk.answer.parts:
        alone: dict[Block, int] = {}
        for look in one.node_fits if one.missing else ():
            for block in dict.fromkeys(look.blocks):
                alone[block] = alone.get(block, 0) + 1
        for block in sorted(alone, key=lambda each: (-alone[each], each))[:_MOST_PARTIAL]:
            yield from _line(desk, DROPPED_BY.get(block.kind, ""), block.detail)


def _healed(desk: Desk, way: FitRemedy) -> ChangeOffers:
    names = tuple(one.name for one in way.nodes)
    records = tuple((Kind.NODE, one) for one in way.nodes)
    target = node(names[0])
    if way.kind == "uncordon_node":
        words, cost = f"uncordon {_named(names)}", FREE + len(names)
        yield made(desk, cost, way.kind, words, names, verb="node.uncordon", target=target, records=records)
        return
    command = ("kubectl", "describe", "node", *names)
    words, cost = f"bring {_named(names)} back to Ready", MONEY + len(names)
    yield made(desk, cost, way.kind, words, command, target=target, records=records)


def _named(names: Iterable[str]) -> str:
    found = [short(one) for one in names]
    more = len(found) - _NAMED
    return ", ".join(found[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _tolerated(desk: Desk, way: FitRemedy) -> ChangeOffers:
    """A toleration may be added to a pod that is there."""
    (pod,) = desk.wanted.pods
    toleration = {"key": way.detail.partition("=")[0], "operator": "Exists"}
    add = {"op": "add", "path": "/spec/tolerations/-", "value": toleration}
    command = json_patch(("pod", pod.name, "-n", pod.namespace), add)
    parts = desk.wanted.parts if way.part is None else (way.part,)
    yield made(desk, OWN_LINE + 2, "tolerate", f"tolerate the taint {way.detail}", command, parts=parts)


def _other_values(desk: Desk, at: int) -> ChangeOffers:
    """The same selector with another value that nodes have: another pool, another kind of card."""
    one = desk.answer.parts[at]
    for key, value in one.part.shape.node_selector if one.missing else ():
        if key == well_known.HOSTNAME:
            continue
        values: dict[str, int] = {}
        for look in one.node_fits:
            other = label(look.node.labels, key)
            if other and other != value and look.room > 0:
                values[other] = values.get(other, 0) + look.room
        is_pool = any(key == one.pool_label for one in desk.view.store.records(Kind.NODE).values())
        for other in sorted(values, key=lambda name: (-values[name], name))[:_MOST_VALUES]:
            found = in_each(desk, lambda place, key=key, other=other: other_selector(place, key, other))  # type: ignore[misc]
            what = f"pool {short(other)}" if is_pool else f"{key}={short(other)}"
            words = f"made anew on {what} instead of {short(value)}"
            yield from edit_offer(desk, OWN_LINE, "other_pool", words, found, Subject("pool", "", other))
