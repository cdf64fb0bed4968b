"""The cockpit's telemetry over a stepped embedded cluster, and what its GPUs truly do."""

from random import Random
from typing import Any

import msgspec

from cockpit.errors import Refused
from cockpit.kube.decode.decoders import NODE, POD, Decoder
from cockpit.kube.resource import NODES, PODS, Resource
from cockpit.model.batch import Batch, ListMark, Phase, StreamStatus
from cockpit.model.gpu import Gpu, Mark
from cockpit.model.quantity import Absent, Reading
from cockpit.model.record import Kind
from cockpit.sim.actors.gpus.exposition import CardReading
from cockpit.sim.cluster import EmbeddedCluster
from cockpit.sim.server.local_port import LocalPort
from cockpit.store.store import Store
from cockpit.telemetry.exporters import ExporterPages
from cockpit.telemetry.poller import Poller
from cockpit.views import format as fmt
from cockpit.views import gpus
from cockpit.views.view_state import ViewState

MIB = 1_048_576.0


class Watched:
    """A store that is fed as a real one: lists decoded from JSON, exporters' pages by their pods' paths."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self.cluster = cluster
        self.store = Store()
        self._port = LocalPort(cluster.operations)
        self._nodes: dict[str, str] = {}
        self.answered: set[str] = set()
        self.poller = Poller(
            ExporterPages(self._read, cluster.clock), self.store.apply, cluster.clock, self.store
        )

    async def look(self) -> None:
        """List nodes and pods anew, then one round of telemetry."""
        self.answered.clear()
        await self._list(NODES, NODE)
        await self._list(PODS, POD)
        await self.poller.poll()

    async def _list(self, resource: Resource, decoder: Decoder) -> None:
        trees = await self._port.list(resource)
        made = [decoder.from_json(msgspec.json.encode(tree)) for tree in trees]
        records = tuple(one for one in made if one is not None)
        status = StreamStatus(kind=decoder.kind, phase=Phase.LIVE, objects=len(records))
        self.store.apply(Batch(kind=decoder.kind, mark=ListMark.BEGIN))
        self.store.apply(Batch(kind=decoder.kind, mark=ListMark.END, changed=records, status=status))

    async def _read(self, path: str, query: tuple[tuple[str, str], ...], most_bytes: int) -> bytes:
        if path == "/api/v1/pods":
            found = await self._port.list(PODS, labels=dict(query)["labelSelector"])
            for tree in found:
                self._nodes[tree["metadata"]["name"]] = tree["spec"].get("nodeName", "")
            return msgspec.json.encode({"items": list(found)})
        node = self._nodes[path.split("/pods/")[1].split("/", maxsplit=1)[0].split(":", maxsplit=1)[0]]
        if node in self.cluster.exporters.silent:
            raise Refused("error trying to reach service: connection refused")
        self.answered.add(node)
        return self.cluster.fleet.metrics(node, self.cluster.clock.now()).encode()

    def cells(self) -> dict[str, dict[str, str]]:
        """What the table of GPUs shows: uuid -> column -> text."""
        table = gpus.table(self.store, ViewState(), self.cluster.clock.now())
        columns = [one.id for one in table.columns]
        return {
            table.key(at): {name: cell.text for name, cell in zip(columns, table.cells(at), strict=True)}
            for at in range(len(table))
        }

    def truth(self, random: Random, count: int) -> list[tuple[str, CardReading]]:
        """So many seeded choices among all cards and instances, with what is true of them now."""
        now = self.cluster.clock.now()
        nodes = self.cluster.fleet.nodes()
        found: list[tuple[str, CardReading]] = []
        while len(found) < count:
            node = random.choice(nodes)
            found.append((node, random.choice(self.cluster.fleet.readings(node, now))))
        return found

    def holders(self, node: str, one: CardReading) -> set[tuple[str, str]]:
        """Who truly holds the device, from the kubelet's own table."""
        uuid = one.slot.uuid if one.slot is not None else one.card.uuid
        return {
            (held.namespace, held.pod)
            for held in self.cluster.kubelets.devices.holders(node)
            if uuid in {device.partition("::")[0] for device in held.device_ids}
        }


def uuid_of(one: CardReading) -> str:
    return one.card.uuid if one.slot is None else f"{one.card.uuid}/{one.slot.instance}"


def near(shown: Reading, true: float, resolution: float) -> bool:
    """A number, and as near as the exporter's own unit allows; a missing one is never near."""
    return not isinstance(shown, Absent) and abs(shown - true) <= resolution * 1.000_001


def wrong(watched: Watched, cells: dict[str, dict[str, str]], node: str, one: CardReading) -> list[str]:
    """What the cockpit shows of a device that is not so; empty where all is true."""
    uuid = uuid_of(one)
    card: Any = watched.store.get(Kind.GPU, uuid)
    row = cells.get(uuid, {})
    if one.faults.is_lost:
        number = card is not None and not isinstance(card.duty_ratio, Absent)
        return [f"{uuid}: a lost card shows a number"] if number else []
    if not isinstance(card, Gpu):
        # a node that joined a moment ago: its exporter is not known yet, and no number is shown
        return [f"{uuid}: not there"] if node in watched.answered else []
    duty = duty_of(one)
    checks = {
        "node": card.node == node,
        "time": card.sampled_seconds == watched.cluster.clock.now(),
        "duty on screen": row.get("duty") in {fmt.percent(max(0.0, duty + by)) for by in (-0.005, 0, 0.005)},
        "power on screen": row.get("power") == fmt.watts(one.state.power_watts),
        "temperature on screen": row.get("temperature") == fmt.celsius(round(one.state.temperature_celsius)),
        "holder": _is_right_holder(card, watched.holders(node, one)),
    }
    return [f"{uuid}: {what}: {card}" for what, is_right in checks.items() if not is_right] + differs(
        card, one
    )


def duty_of(one: CardReading) -> float:
    """The duty that a card or an instance truly has."""
    return one.engine_ratio if one.slot is not None else one.state.duty_ratio


def differs(card: Gpu, one: CardReading) -> list[str]:
    """Numbers that are not the true ones, each as near as the exporter's own unit allows."""
    checks = {
        "duty": near(card.duty_ratio, duty_of(one), 0.005),
        "used": near(card.memory_used_bytes, one.memory_used_bytes, MIB),
        # A and B state no total: used + free + reserved, each rounded down to whole MiB
        "total": near(card.memory_total_bytes, one.memory_total_bytes, 3 * MIB),
        "temperature": near(card.temperature_celsius, one.state.temperature_celsius, 0.5),
        "power": near(card.power_watts, one.state.power_watts, 1e-6),
        "clock": near(card.sm_clock_hertz, one.state.sm_clock_hertz, 0.5e6),
        "xid": (card.xid or 0) == one.faults.xid or one.slot is not None,
    }
    return [f"{card.uuid}: {what}: {card}, truly {one}" for what, is_right in checks.items() if not is_right]


def _is_right_holder(card: Gpu, true: set[tuple[str, str]]) -> bool:
    """Sure means the one and only; shared means one of several, or of those who may share."""
    named = (card.pod_namespace, card.pod_name)
    if card.mark is Mark.SURE:
        return true == {named}
    if card.mark is Mark.SHARED:
        return named in true
    if card.mark is Mark.UNALLOCATED:
        return not true
    return True  # a guess, or not told: nothing was claimed
