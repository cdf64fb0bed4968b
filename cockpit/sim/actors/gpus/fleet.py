"""All cards of a cluster: who holds them, what they do, what is wrong with them.

The fleet is an actor: it watches nodes and pods. Cards live lazily, each moves on when it is asked. Who
holds a card is told by the kubelets (`DeviceReader`): the API says only how many devices a container has.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from cockpit.kube.resource import NODES, PODS, Resource
from cockpit.sim.actors.common.gpu_load import Load, duty_at, load_of, memory_at
from cockpit.sim.actors.gpus import own_exposition
from cockpit.sim.actors.gpus.exposition import CardReading, DeviceOwner, Generation, text
from cockpit.sim.actors.gpus.models import Model, model_of
from cockpit.sim.actors.gpus.physics import Faults, State, advance, grid, rest
from cockpit.sim.devices import NodeCard, Slot, cards_of
from cockpit.sim.engine import Actor, Key
from cockpit.sim.port import ChangeType, ObjectChange, Tree
from cockpit.sim.times import seconds_of

EXPORTER_LABELS = ("nvidia-dcgm-exporter", "dcgm-exporter", "cockpit-exporter")
_NO_FAULTS = Faults()


class AllocatedDevices(Protocol):
    """Devices (ids as the pod-resources API spells them) that a kubelet gave to a container."""

    @property
    def namespace(self) -> str: ...
    @property
    def pod(self) -> str: ...
    @property
    def uid(self) -> str: ...
    @property
    def container(self) -> str: ...
    @property
    def device_ids(self) -> tuple[str, ...]: ...


class DeviceReader(Protocol):
    """The kubelets' table of devices."""

    def holders(self, node: str) -> Sequence[AllocatedDevices]: ...


class _Body:
    """A card that exists: its state so far, and what is wrong with it."""

    __slots__ = ("card", "faults", "model", "state")

    def __init__(self, card: NodeCard, at_seconds: float) -> None:
        self.card = card
        self.model: Model = model_of(card.product)
        self.state: State = rest(self.model, at_seconds)
        self.faults = _NO_FAULTS


class GpuFleet(Actor):
    """Cards by node. `metrics(node)` is what an exporter on it would print now."""

    name = "gpus"
    watches: tuple[Resource, ...] = (NODES, PODS)

    def __init__(
        self,
        holders: DeviceReader,
        generation_of: Callable[[str], Generation] = lambda node: Generation.A,
    ) -> None:
        super().__init__()
        self._holders = holders
        self._generation_of = generation_of
        self._bodies: dict[str, list[_Body]] = {}
        self._loads: dict[str, Load] = {}
        self._exporters: dict[str, str] = {}

    def wake(self, change: ObjectChange, before: Tree | None) -> Iterable[Key]:
        """Takes note at once; nothing has to be reconciled."""
        if change.resource == NODES:
            self._note_node(change)
        else:
            self._note_pod(change)
        return ()

    async def reconcile(self, key: Key) -> None:
        """Never asked for: the fleet changes nothing in the cluster."""

    # ---- asking

    def nodes(self) -> list[str]:
        """Nodes with cards, in the order of their names."""
        return sorted(node for node, bodies in self._bodies.items() if bodies)

    def readings(self, node: str, at_seconds: float) -> list[CardReading]:
        """Every card and every MIG instance of a node at the grid point before a time: the ground truth.

        Raises KeyError for a node without cards.
        """
        bodies = self._bodies[node]
        if not bodies:
            raise KeyError(node)
        held = self._by_device(node)
        found: list[CardReading] = []
        duties: dict[tuple[int, float], float] = {}  # by the load's id: cards of one container do the same
        for body in bodies:
            loads = self._loads_on(body.card, held)
            self._move(body, loads, at_seconds, duties)
            found.extend(_read(body, held, self._loads))
        return found

    def metrics(self, node: str, at_seconds: float) -> str:
        """The exporter's page of a node. Raises KeyError for a node without cards."""
        readings, generation = self.readings(node, at_seconds), self._generation_of(node)
        if generation is Generation.COCKPIT:
            return own_exposition.text(node, readings)
        return text(node, readings, generation)

    def node_of_exporter(self, address: str) -> str:
        """The node whose exporter's pod has this address, "" for none."""
        return self._exporters.get(address, "")

    def break_card(self, node: str, index: int, faults: Faults) -> None:
        """Let something be wrong with a card from now on. Raises KeyError where there is none."""
        for body in self._bodies.get(node, ()):
            if body.card.index == index:
                body.faults = faults
                return
        raise KeyError(f"{node} has no GPU {index}")

    # ---- inside

    def _note_node(self, change: ObjectChange) -> None:
        name = change.tree["metadata"]["name"]
        if change.type is ChangeType.DELETED:
            self._bodies.pop(name, None)
            return
        known = {body.card: body for body in self._bodies.get(name, ())}
        at = self.engine.now()
        self._bodies[name] = [known.get(card) or _Body(card, at) for card in cards_of(change.tree)]

    def _note_pod(self, change: ObjectChange) -> None:
        metadata: Mapping[str, Any] = change.tree["metadata"]
        uid = metadata.get("uid", "")
        status = change.tree.get("status") or {}
        if (metadata.get("labels") or {}).get("app") in EXPORTER_LABELS and status.get("podIP"):
            self._exporters[status["podIP"]] = change.tree["spec"].get("nodeName", "")
        if change.type is ChangeType.DELETED or status.get("phase") != "Running":
            self._loads.pop(uid, None)
            return
        if uid not in self._loads:
            started = status.get("startTime")
            since = seconds_of(started) if started else self.engine.now()
            annotations = metadata.get("annotations") or {}
            self._loads[uid] = load_of(annotations, f"{metadata.get('namespace')}/{metadata['name']}", since)

    def _by_device(self, node: str) -> dict[str, list[AllocatedDevices]]:
        found: dict[str, list[AllocatedDevices]] = {}
        for held in self._holders.holders(node):
            for device in held.device_ids:
                found.setdefault(device.partition("::")[0], []).append(held)
        return found

    def _loads_on(
        self, card: NodeCard, held: Mapping[str, Sequence[AllocatedDevices]]
    ) -> list[tuple[Load, float]]:
        """Each load on the card with the share of the card that its device is."""
        found: list[tuple[Load, float]] = []
        for one in held.get(card.uuid, ()):
            load = self._loads.get(one.uid)
            if load is not None:
                found.append((load, 1.0))
        for slot in card.slots:
            for one in held.get(slot.uuid, ()):
                load = self._loads.get(one.uid)
                if load is not None:
                    found.append((load, slot_share(slot)))
        return found

    def _move(
        self,
        body: _Body,
        loads: Sequence[tuple[Load, float]],
        at_seconds: float,
        duties: dict[tuple[int, float], float],
    ) -> None:
        def duty(load: Load, at: float) -> float:
            known = duties.get((id(load), at))
            if known is None:
                known = duties[id(load), at] = duty_at(load, at)
            return known

        def asked(at: float) -> float:
            return min(1.0, sum(duty(load, at) * share for load, share in loads))

        if grid(at_seconds) > body.state.at_seconds:
            body.state = advance(body.model, body.state, asked, body.faults, at_seconds)


def slot_share(slot: Slot) -> float:
    """The share of a card's compute that a MIG profile has: `3g.40gb` is 3 of 7 slices."""
    slices, _, _ = slot.profile.partition("g")
    return min(1.0, int(slices) / 7) if slices.isdigit() else 1 / 7


def _slot_bytes(slot: Slot, model: Model) -> int:
    _, _, memory = slot.profile.partition(".")
    number = memory.removesuffix("gb")
    return int(number) * 1024**3 if number.isdigit() else model.memory_bytes // 7


def _read(
    body: _Body, held: Mapping[str, Sequence[AllocatedDevices]], loads: Mapping[str, Load]
) -> Iterable[CardReading]:
    card, model, state = body.card, body.model, body.state
    at = state.at_seconds
    usable = model.memory_bytes - model.reserved_bytes
    if card.slots:
        for slot in card.slots:
            of_slot = held.get(slot.uuid, ())
            owner = _first(of_slot)
            load = loads.get(owner.uid) if owner is not None else None
            total = _slot_bytes(slot, model)
            yield CardReading(
                card=card, model=model, state=state, faults=body.faults, slot=slot,
                memory_total_bytes=total,
                memory_used_bytes=memory_at(load, at, total) if load is not None else 0,
                engine_ratio=duty_at(load, at) if load is not None else 0.0,
                holder=_holder(owner), sharers=_sharers(of_slot),
            )  # fmt: skip
        return
    owners = held.get(card.uuid, ())
    used = sum(memory_at(loads[one.uid], at, usable) for one in owners if one.uid in loads)
    # Without its option for virtual GPUs dcgm-exporter names one pod of a shared card: the last one mapped.
    owner = owners[-1] if owners else None
    yield CardReading(
        card=card, model=model, state=state, faults=body.faults,
        memory_total_bytes=model.memory_bytes,
        memory_used_bytes=min(usable, used),
        engine_ratio=state.duty_ratio,
        holder=_holder(owner), sharers=_sharers(owners),
    )  # fmt: skip


def _first(owners: Sequence[AllocatedDevices]) -> AllocatedDevices | None:
    return owners[0] if owners else None


def _holder(held: AllocatedDevices | None) -> DeviceOwner | None:
    return None if held is None else DeviceOwner(held.namespace, held.pod, held.container)


def _sharers(owners: Sequence[AllocatedDevices]) -> tuple[DeviceOwner, ...]:
    return tuple(DeviceOwner(one.namespace, one.pod, one.container) for one in owners)
