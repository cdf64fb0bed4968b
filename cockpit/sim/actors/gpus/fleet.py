"""All cards of a cluster: who holds them, what they do, what is wrong with them.

The fleet is an actor: it watches nodes and pods. Cards live lazily, each moves on when it is asked. Who
holds a card is told by the kubelets (`DeviceReader`): the API says only how many devices a container has.
What a page said a while ago is worked out again from who held the cards then (`CardHolders`), not stored.
"""

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from cockpit.kube.resource import NODES, PODS, Resource
from cockpit.sim.actors.common.gpu_load import Load, duty_at, load_of, memory_at
from cockpit.sim.actors.gpus import exposition, own_exposition
from cockpit.sim.actors.gpus.card_holders import CardHolders, DeviceReader, Tenure
from cockpit.sim.actors.gpus.card_life import CardLife, Use
from cockpit.sim.actors.gpus.exposition import CardReading, DeviceOwner, ExposedSample, Generation
from cockpit.sim.actors.gpus.models import Model
from cockpit.sim.actors.gpus.physics import Faults, State
from cockpit.sim.devices import NodeCard, Slot, cards_of
from cockpit.sim.engine import Actor, Key
from cockpit.sim.port import ChangeType, ObjectChange, Tree
from cockpit.sim.times import seconds_of

EXPORTER_LABELS = ("nvidia-dcgm-exporter", "dcgm-exporter", "cockpit-exporter")
KEEPS_SECONDS = 1_200.0
"""How far back a card can be asked where nobody remembers it: its temperature forgets in minutes."""


class GpuFleet(Actor):
    """Cards by node. `metrics(node)` is what an exporter on it would print now."""

    name = "gpus"
    watches: tuple[Resource, ...] = (NODES, PODS)

    def __init__(
        self,
        holders: DeviceReader,
        generation_of: Callable[[str], Generation] = lambda node: Generation.A,
        keeps_seconds: float = KEEPS_SECONDS,
    ) -> None:
        """`keeps_seconds` is how far back `samples` are worked out."""
        super().__init__()
        self._generation_of = generation_of
        self._keeps_seconds = keeps_seconds
        self._holders = CardHolders(holders, keeps_seconds)
        self._lives: dict[str, list[CardLife]] = {}
        self._generations: dict[str, Generation] = {}
        self._left: dict[str, float] = {}  # nodes that are gone, and since when: remembered for a while
        self._exporters: dict[str, str] = {}
        self._exporting_since: dict[str, float] = {}
        self._has_begun = False

    def wake(self, change: ObjectChange, before: Tree | None) -> Iterable[Key]:
        """Takes note at once; who holds a pod's devices is known once its kubelet has seen it."""
        if change.resource == NODES:
            self._note_node(change)
        elif self._note_pod(change):
            yield (change.tree["spec"]["nodeName"],)

    async def start(self) -> None:
        """What is there by now has been there for as long as it says."""
        self._has_begun = True

    async def reconcile(self, key: Key) -> None:
        """Notes the holders of a node; the fleet changes nothing in the cluster."""
        self._holders.note(key[0], self.engine.now())

    # ---- asking

    def nodes(self) -> list[str]:
        """Nodes with cards, in the order of their names."""
        return sorted(node for node, lives in self._lives.items() if lives and node not in self._left)

    def scraped_nodes(self, at_seconds: float) -> list[str]:
        """Nodes that had cards and an exporter at a time, in the order of their names."""
        return sorted(
            node
            for node, lives in self._lives.items()
            if lives
            and self._exporting_since.get(node, math.inf) <= at_seconds < self._left.get(node, math.inf)
        )

    def readings(self, node: str, at_seconds: float) -> list[CardReading]:
        """Every card and every MIG instance of a node at the grid point before a time: the ground truth.

        Raises KeyError for a node without cards.
        """
        if not self._lives[node] or node in self._left:
            raise KeyError(node)
        return self._readings(node, at_seconds)

    def metrics(self, node: str, at_seconds: float) -> str:
        """The exporter's page of a node. Raises KeyError for a node without cards."""
        readings, generation = self.readings(node, at_seconds), self._generations[node]
        if generation is Generation.COCKPIT:
            return own_exposition.text(node, readings)
        return exposition.text(node, readings, generation)

    def samples(
        self, node: str, at_seconds: float, names: Container[str] | None = None
    ) -> list[ExposedSample]:
        """The lines that the exporter's page of a node had at a time, or those of some metrics; none of cards
        that were not there yet, and none from before what is kept."""
        readings = self._readings(node, at_seconds)
        generation = self._generations[node]
        if generation is not Generation.COCKPIT:
            return exposition.samples(node, readings, generation, names)
        found = own_exposition.samples(node, readings)
        return [one for one in found if names is None or one[0] in names]

    def pods_of(self, node: str) -> set[tuple[str, str]]:
        """(namespace, name) of the pods that held cards of a node as far back as is kept."""
        self._holders.note(node, self.engine.now())
        return {(one.held.namespace, one.held.pod) for one in self._holders.tenures(node)}

    def metric_names(self, node: str) -> tuple[str, ...]:
        """What the exporter of a node may tell."""
        generation = self._generations[node]
        is_own = generation is Generation.COCKPIT
        return own_exposition.METRIC_NAMES if is_own else exposition.metric_names(generation)

    def node_of_exporter(self, address: str) -> str:
        """The node whose exporter's pod has this address, "" for none."""
        return self._exporters.get(address, "")

    def break_card(self, node: str, index: int, faults: Faults) -> None:
        """Let something be wrong with a card from now on. Raises KeyError where there is none."""
        for life in self._lives.get(node, ()):
            if life.card.index == index:
                life.suffer(faults, self.engine.now())
                return
        raise KeyError(f"{node} has no GPU {index}")

    # ---- inside

    def _note_node(self, change: ObjectChange) -> None:
        metadata = change.tree["metadata"]
        name = metadata["name"]
        if change.type is ChangeType.DELETED:
            self._left[name] = self.engine.now()
            return
        self._left.pop(name, None)
        self._generations[name] = self._generation_of(name)
        self._forget(self.engine.now() - self._keeps_seconds)
        known = {life.card: life for life in self._lives.get(name, ())}
        began = self.engine.now()
        if not self._has_begun and metadata.get("creationTimestamp"):
            began = max(seconds_of(metadata["creationTimestamp"]), began - self._keeps_seconds)
        self._lives[name] = [
            known.get(card) or CardLife(card, began, self._keeps_seconds) for card in cards_of(change.tree)
        ]

    def _forget(self, before_seconds: float) -> None:
        """Let go of nodes that have been gone for long."""
        for name in [node for node, since in self._left.items() if since < before_seconds]:
            del self._left[name]
            self._lives.pop(name, None)
            self._generations.pop(name, None)
            self._holders.forget(name)
            self._exporting_since.pop(name, None)

    def _note_pod(self, change: ObjectChange) -> bool:
        """Whether the kubelet's table has news of it."""
        metadata: Mapping[str, Any] = change.tree["metadata"]
        uid, now = metadata.get("uid", ""), self.engine.now()
        status = change.tree.get("status") or {}
        is_gone = change.type is ChangeType.DELETED
        if (metadata.get("labels") or {}).get("app") in EXPORTER_LABELS and status.get("podIP"):
            node = change.tree["spec"].get("nodeName", "")
            if is_gone:
                self._exporters.pop(status["podIP"], None)
            else:
                self._exporters[status["podIP"]] = node
                self._exporting_since.setdefault(node, now if self._has_begun else -math.inf)
        if is_gone or status.get("phase") in ("Succeeded", "Failed"):
            self._holders.end(uid, now)
            return False
        if status.get("phase") == "Running" and not self._holders.has_load(uid):
            started = status.get("startTime")
            since = seconds_of(started) if started else now
            annotations = metadata.get("annotations") or {}
            load = load_of(annotations, f"{metadata.get('namespace')}/{metadata['name']}", since)
            self._holders.begin(uid, load, now if self._has_begun else since)
        on_node = str((change.tree.get("spec") or {}).get("nodeName") or "")
        return bool(self._lives.get(on_node)) and not self._holders.is_noted(uid)

    def _readings(self, node: str, at_seconds: float) -> list[CardReading]:
        self._holders.note(node, self.engine.now())
        held = self._holders.by_device_at(node, at_seconds)
        tenures = self._holders.tenures(node)
        duties: dict[tuple[int, float], float] = {}  # by the load's id: cards of one container do the same
        found: list[CardReading] = []
        for life in self._lives.get(node, ()):
            state = life.state_at(at_seconds, _uses(life.card, tenures, duties))
            if state is not None:
                found.extend(_read(life, state, held))
        return found


def _uses(card: NodeCard, tenures: Sequence[Tenure], duties: dict[tuple[int, float], float]) -> list[Use]:
    """What asks something of the card, each load with the share of the card that its device is."""
    shares = {card.uuid: 1.0} | {slot.uuid: slot_share(slot) for slot in card.slots}

    def duty(load: Load, share: float, at: float) -> float:
        known = duties.get((id(load), at))
        if known is None:
            known = duties[id(load), at] = duty_at(load, at)
        return known * share

    return [
        Use(one.busy_seconds, one.until_seconds, partial(duty, one.load, shares[device]))
        for one in tenures
        if one.load is not None and one.load.mean_ratio > 0.0
        for device in one.devices
        if device in shares
    ]


def slot_share(slot: Slot) -> float:
    """The share of a card's compute that a MIG profile has: `3g.40gb` is 3 of 7 slices."""
    slices, _, _ = slot.profile.partition("g")
    return min(1.0, int(slices) / 7) if slices.isdigit() else 1 / 7


def _slot_bytes(slot: Slot, model: Model) -> int:
    _, _, memory = slot.profile.partition(".")
    number = memory.removesuffix("gb")
    return int(number) * 1024**3 if number.isdigit() else model.memory_bytes // 7


def _read(life: CardLife, state: State, held: Mapping[str, Sequence[Tenure]]) -> Iterable[CardReading]:
    card, model, at, faults = life.card, life.model, state.at_seconds, life.faults_at(state.at_seconds)
    usable = model.memory_bytes - model.reserved_bytes
    if card.slots:
        for slot in card.slots:
            of_slot = held.get(slot.uuid, ())
            load = of_slot[0].load_at(at) if of_slot else None
            total = _slot_bytes(slot, model)
            yield CardReading(
                card=card, model=model, state=state, faults=faults, slot=slot,
                memory_total_bytes=total,
                memory_used_bytes=memory_at(load, at, total) if load is not None else 0,
                engine_ratio=duty_at(load, at) if load is not None else 0.0,
                holder=_owner(of_slot[0]) if of_slot else None, sharers=tuple(map(_owner, of_slot)),
            )  # fmt: skip
        return
    owners = held.get(card.uuid, ())
    loads = (one.load_at(at) for one in owners)
    used = sum(memory_at(load, at, usable) for load in loads if load is not None)
    # Without its option for virtual GPUs dcgm-exporter names one pod of a shared card: the last one mapped.
    yield CardReading(
        card=card, model=model, state=state, faults=faults,
        memory_total_bytes=model.memory_bytes,
        memory_used_bytes=min(usable, used),
        engine_ratio=state.duty_ratio,
        holder=_owner(owners[-1]) if owners else None, sharers=tuple(map(_owner, owners)),
    )  # fmt: skip


def _owner(tenure: Tenure) -> DeviceOwner:
    return DeviceOwner(tenure.held.namespace, tenure.held.pod, tenure.held.container)
