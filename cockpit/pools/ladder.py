"""The progress of a resize: how many of the new nodes stand on which rung.

Asked is our own call, accepted the owner's object, the rest is read from the nodes. Counts are cumulative:
a node that is used has also joined. Every count is of nodes that were not there when the change was asked.
"""

import msgspec

from cockpit.model.pool import Pool, PoolObject
from cockpit.model.store_reader import StoreReader
from cockpit.pools.stage import NodeStage, node_stage
from cockpit.pools.truth import nodes_of

_ORDER = (NodeStage.JOINED, NodeStage.READY, NodeStage.NOT_ADVERTISED, NodeStage.GPUS_UP, NodeStage.USED)


class Resize(msgspec.Struct, frozen=True, kw_only=True):
    """A resize that was asked for from here. `before` are the names of the nodes that stood then."""

    pool: str
    owner_uid: str
    from_replicas: int
    to_replicas: int
    asked_seconds: float  # epoch
    before: frozenset[str] = frozenset()

    @property
    def grows(self) -> bool:
        """True when nodes are to come."""
        return self.to_replicas > self.from_replicas


class Rung(msgspec.Struct, frozen=True):
    """One step of the ladder: `done` of `wanted` nodes have reached it."""

    step: str
    done: int
    wanted: int

    @property
    def is_done(self) -> bool:
        """True when every wanted node is here."""
        return self.done >= self.wanted


def begin(pool: Pool, owner: PoolObject, to_replicas: int, now_seconds: float) -> Resize:
    """The change as it stands right before the call is sent."""
    return Resize(
        pool=pool.name,
        owner_uid=owner.uid,
        from_replicas=owner.replicas or 0,
        to_replicas=to_replicas,
        asked_seconds=now_seconds,
        before=frozenset(pool.node_names),
    )


def ladder(change: Resize, pool: Pool, owner: PoolObject | None, store: StoreReader) -> tuple[Rung, ...]:
    """The rungs of a change in flight, in order."""
    wanted = abs(change.to_replicas - change.from_replicas)
    asked = wanted if owner is not None and owner.replicas == change.to_replicas else 0
    if not change.grows:
        gone = sum(1 for name in change.before if name not in pool.node_names)
        stages = [node_stage(one, store) for one in nodes_of(store) if one.name in pool.node_names]
        leaving = sum(one in (NodeStage.LEAVING, NodeStage.DRAINING) for one in stages)
        return (
            Rung("asked", asked, wanted),
            Rung("leaving", min(wanted, gone + leaving), wanted),
            Rung("gone", min(wanted, gone), wanted),
        )
    new = [one for one in nodes_of(store) if one.name in pool.node_names and one.name not in change.before]
    reached = [_reached(node_stage(one, store)) for one in new]
    taken = (owner.status_replicas or 0) - change.from_replicas if owner is not None else 0
    counts = {step: sum(each >= at for each in reached) for at, step in enumerate(_ORDER)}
    has_gpus = any(one.has_gpus for one in new) or pool.gpus_total > 0 or not new
    rungs = [
        Rung("asked", asked, wanted),
        Rung("accepted", max(0, min(wanted, max(taken, len(new)))), wanted),
        Rung("joined", min(wanted, counts[NodeStage.JOINED]), wanted),
        Rung("ready", min(wanted, counts[NodeStage.READY]), wanted),
    ]
    if has_gpus:
        rungs.append(Rung("GPUs up", min(wanted, counts[NodeStage.GPUS_UP]), wanted))
    rungs.append(Rung("used", min(wanted, counts[NodeStage.USED]), wanted))
    return tuple(rungs)


def _reached(stage: str) -> int:
    """The highest rung of a node; one that left the way up again stands on the lowest."""
    if stage in (NodeStage.CORDONED, NodeStage.DRAINING):
        return _ORDER.index(NodeStage.READY)
    return _ORDER.index(stage) if stage in _ORDER else 0


def is_over(rungs: tuple[Rung, ...]) -> bool:
    """True when every rung but the last (`used`, which nobody promised) is done."""
    return all(one.is_done for one in rungs if one.step != "used")


def sentence(change: Resize, rungs: tuple[Rung, ...], now_seconds: float) -> str:
    """The change in one line: `h100 4 → 6: asked 2/2, joined 1/2, GPUs up 0/2 (3 min)`."""
    steps = ", ".join(
        f"{one.step} {one.done}/{one.wanted}" for one in rungs if one.step != "used" or one.done
    )
    minutes = max(0, int(now_seconds - change.asked_seconds)) // 60
    return f"{change.pool} {change.from_replicas} → {change.to_replicas}: {steps} ({minutes} min)"
