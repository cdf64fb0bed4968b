"""What sessions that were broken off left: writes without an end, and marks on nodes and machines. Pure."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final
from weakref import WeakKeyDictionary

from cockpit.gangs.draft import draft
from cockpit.gangs.sentence import counted, listed, one_line
from cockpit.model.broken_write import BrokenWrite
from cockpit.model.finding import Evidence, Finding, Subject
from cockpit.model.node import Node
from cockpit.model.pool import Machine
from cockpit.model.record import Kind, label
from cockpit.model.store_reader import StoreReader
from cockpit.pools.drain_mark import mark_of, still_there
from cockpit.pools.idle import RECLAIM, RECLAIM_AT
from cockpit.pools.idle import is_tainted as is_closed_for_removal
from cockpit.pools.index import pool_keyed, pools_of
from cockpit.pools.registry import marking_machines
from cockpit.triage.remedies import KeyRemedy

BROKEN_OFF: Final = "write-broken-off"
LEFT: Final = "left-over"
"""The sign of a node, as the fact "sign" names it."""
LEFT_SECONDS: Final = 600.0
"""Marks that are younger may be of a removal on its way: the Lease of its pool lasts as long."""
ACKNOWLEDGE: Final = KeyRemedy("acknowledge", "a", "acknowledge")
CLEAN: Final = KeyRemedy("clean up", "X", "X", is_write=True)


def broken_findings(writes: Iterable[BrokenWrite]) -> Iterator[Finding]:
    """A row for each write that was begun and not ended."""
    for write in writes:
        key = f"{write.audit_id}/{write.method}{write.path}"
        yield Finding(
            subject=Subject("write", "", f"{write.verb} {write.target}"),
            finding=BROKEN_OFF,
            row=key,
            is_bad=write.effect not in ("applied", "not applied") or write.is_between,
            sentence=one_line(_sentence(write)),
            remedies=(ACKNOWLEDGE,),
            since_seconds=write.at_seconds,
        )


def _sentence(write: BrokenWrite) -> str:
    begun = f"begun {datetime.fromtimestamp(write.at_seconds, UTC).strftime('%d %b %H:%M')} UTC, broken off"
    if write.is_between:
        return f"{begun} after {write.done} of {write.calls} calls: the rest was not sent"
    more = f"; {write.done} of {write.calls} calls before it done" if write.calls > 1 else ""
    why = f": {write.why}" if write.why else ""
    return f"{begun}: {write.effect}{why}{more}"


def marked_nodes(store: StoreReader) -> frozenset[str]:
    """Nodes whose machines have our mark to go before others."""
    revision, kept = store.revision_of(Kind.MACHINE), _MARKED.get(store)
    if kept is None or kept[0] != revision:
        kept = _MARKED[store] = revision, _marked_nodes(store)
    return kept[1]


_MARKED: WeakKeyDictionary[StoreReader, tuple[int, frozenset[str]]] = WeakKeyDictionary()
"""Of each store, as its machines last moved."""


def _marked_nodes(store: StoreReader) -> frozenset[str]:
    return frozenset(
        machine.node
        for machine in store.records(Kind.MACHINE).values()
        if machine.node and machine.annotations and _is_ours(machine)
    )


def _is_ours(machine: Machine) -> bool:
    return any(owner.unmark_calls(machine) for owner in marking_machines())


def left_on_node(
    node: Node, store: StoreReader, now_seconds: float, ended_drains: frozenset[str] = frozenset()
) -> Finding | None:
    """What a removal or a drain that did not go on left on the node, None where it left nothing."""
    if node.deleting_seconds is not None:
        return None
    return _of_removal(node, store, now_seconds) or _of_drain(node, store, ended_drains)


def _of_removal(node: Node, store: StoreReader, now_seconds: float) -> Finding | None:
    mark = label(node.annotations, RECLAIM)
    is_marked_machine = node.name in marked_nodes(store)
    is_closed = is_closed_for_removal(node)
    if not (mark or is_closed or is_marked_machine):
        return None
    since = _seconds(label(node.annotations, RECLAIM_AT))
    if (since is not None and now_seconds - since < LEFT_SECONDS) or _shrinks(mark, node, store):
        return None
    closed = ("a cordon",) if mark and node.unschedulable else ()
    note = ("a mark",) if mark and not node.unschedulable else ()
    taint = ("a taint",) if is_closed else ()
    machine = ("a mark on its machine",) if is_marked_machine else ()
    left = listed("", [*closed, *note, *taint, *machine], 60)
    field = "metadata.annotations" if mark else "spec.taints" if is_closed else "Machine metadata.annotations"
    return draft(
        "",
        "a removal of it was begun and did not go on; it left {left}",
        {"left": left},
        Evidence(f"Node {node.name}", field, left, since),
        facts=(("sign", LEFT),),
        since_seconds=since,
    )


def _shrinks(mark: str, node: Node, store: StoreReader) -> bool:
    """Whether the owner of its pool has yet to take nodes away: the removal is on its way."""
    pool = pool_keyed(store, mark) if mark else None
    pool = pool or next((it for it in pools_of(store) if node.name in it.node_names), None)
    return pool is not None and pool.target is not None and pool.nodes_now > pool.target


def _of_drain(node: Node, store: StoreReader, ended_drains: frozenset[str]) -> Finding | None:
    mark = mark_of(node)
    if mark is None or node.name not in ended_drains:
        return None
    left = still_there(node.name, store)
    if not left:
        return None  # drained all the same
    return draft(
        "",
        "its drain, begun {by}, ended with the cockpit that ran it: {pods} left, cordoned",
        {"by": mark.begun or "earlier", "pods": counted(len(left), "pod")},
        Evidence(f"Node {node.name}", "metadata.annotations", mark.id),
        facts=(("sign", LEFT),),
    )


def _seconds(text: str) -> float | None:
    return float(text) if text.isascii() and text.isdecimal() and len(text) < 12 else None
