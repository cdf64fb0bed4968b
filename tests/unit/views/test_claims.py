"""GPUs by claim (DRA) in the tables: counts, cards, who has them, and `?` where nobody may say."""

from typing import Any

import msgspec
import pytest

from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.claim import Consumer, DeviceClaim, DeviceSlice, OfferedDevice, TakenDevice
from cockpit.model.gpu import Mark
from cockpit.model.record import Kind
from cockpit.model.scheduling import Traits
from cockpit.pools.truth import is_use_known
from cockpit.store.store import Store
from cockpit.views import gpus, nodes, pods
from cockpit.views.fit import fit_report
from cockpit.views.fleet import fleet
from cockpit.views.node_page import facts
from cockpit.views.view_state import ViewState
from tests.unit.views.builders import GIB, NOW, card, node, pod, store, texts

ASKS = Traits(device_claims=("gpus",))
WHOLE = ViewState()


def offered(count: int = 4) -> DeviceSlice:
    devices = tuple(
        OfferedDevice(name=f"gpu-{one}", uuid=f"GPU-{one}", model="NVIDIA-B200", memory_bytes=180 << 30)
        for one in range(count)
    )
    return DeviceSlice(
        uid="s", name="s", driver="gpu.nvidia.com", pool="gpu-1", node="gpu-1", devices=devices
    )


def claim(name: str, *devices: str, of: tuple[str, ...]) -> DeviceClaim:
    return DeviceClaim(
        uid=f"c-{name}",
        name=name,
        namespace="team-a",
        consumers=tuple(Consumer(f"uid-{one}", one) for one in of),
        is_allocated=True,
        taken=tuple(TakenDevice("gpu.nvidia.com", "gpu-1", one) for one in devices),
    )


def told(made: Store, kind: str, phase: Phase, message: str = "") -> None:
    made.apply(Batch(kind=kind, status=StreamStatus(kind=kind, phase=phase, message=message)))


def claimed(*records: Any, phase: Phase = Phase.LIVE) -> Store:
    """A node without a device plugin, with four cards for claims; one pod holds two of them."""
    bare = msgspec.structs.replace(node(gpus=None), gpu_model="")
    made = store(bare, pod("own", gpus=0, traits=ASKS), pod("late", gpus=0, traits=ASKS), *records)
    made.apply(Batch(kind=Kind.DEVICE_SLICE, changed=(offered(),)))
    if phase is Phase.LIVE:
        both = (claim("a", "gpu-1", "gpu-3", of=("own",)), claim("b", "gpu-2", of=("late",)))
        made.apply(Batch(kind=Kind.DEVICE_CLAIM, changed=both))
    for kind in (Kind.POD, Kind.DEVICE_SLICE):
        told(made, kind, Phase.LIVE)
    told(made, Kind.DEVICE_CLAIM, phase, "You cannot list or watch resourceclaims.resource.k8s.io.")
    return made


def test_cards_without_telemetry_have_their_model_size_and_pod() -> None:
    rows = {row.card.uuid: row.card for row in gpus.rows(claimed())}
    assert {uuid: (one.pod_name, one.mark) for uuid, one in rows.items()} == {
        "GPU-0": ("", Mark.UNALLOCATED),
        "GPU-1": ("own", Mark.SURE),
        "GPU-2": ("late", Mark.SURE),
        "GPU-3": ("own", Mark.SURE),
    }
    first = rows["GPU-0"]
    assert (first.model, first.memory_total_bytes, first.index) == ("NVIDIA-B200", 180 * GIB, 0)


def test_a_card_with_telemetry_is_one_row() -> None:
    seen = msgspec.structs.replace(card(0), uuid="GPU-1")
    rows = gpus.rows(claimed(seen))
    assert sorted(row.card.uuid for row in rows) == ["GPU-0", "GPU-1", "GPU-2", "GPU-3"]


def test_what_others_hold_by_a_device_plugin_makes_no_card_free() -> None:
    both = claimed(pod("old", gpus=1))
    marks = [row.card.mark for row in gpus.rows(both) if not row.card.pod_name]
    assert marks == [Mark.NOT_COLLECTED]


def test_the_fleet_counts_them() -> None:
    found = fleet(claimed())
    assert (found.gpus, found.allocated, found.free, found.unseen) == (4, 3, 1, 0)


@pytest.mark.parametrize("phase", [Phase.DENIED, Phase.CONNECTING])
def test_where_claims_are_not_known_nothing_is_free_and_nothing_is_none(phase: Phase) -> None:
    made = claimed(phase=phase)
    assert not is_use_known(made)
    assert (fleet(made).free, fleet(made).unseen) == (0, 4)
    assert texts(nodes.table(made, WHOLE, NOW), "gpus") == ["?/4"]
    assert texts(pods.table(made, WHOLE, NOW), "gpus") == ["?", "?"]
    assert {row.card.mark for row in gpus.rows(made)} == {Mark.NOT_COLLECTED}


def test_a_node_whose_slices_are_denied_may_have_gpus() -> None:
    bare = node(gpus=None)
    quiet = store(bare)
    told(quiet, Kind.DEVICE_SLICE, Phase.DENIED)
    assert texts(nodes.table(quiet, WHOLE, NOW), "gpus") == ["none"]
    asking = store(bare, pod("own", gpus=0, traits=ASKS))
    told(asking, Kind.DEVICE_SLICE, Phase.DENIED)
    assert texts(nodes.table(asking, WHOLE, NOW), "gpus") == ["?"]


def told_of(made: Store) -> dict[str, str]:
    (only,) = made.records(Kind.NODE).values()
    return {pair.name: pair.value for pair in facts(only, made, NOW)}


def test_a_nodes_page_says_that_gpus_come_by_claim_and_why_they_are_not_known() -> None:
    known = told_of(claimed())
    assert known["GPUs"] == "4 B200 · 4 allocatable, 3 allocated · by claim (DRA)"
    assert "claims" not in known
    denied = told_of(claimed(phase=Phase.DENIED))
    assert denied["GPUs"] == "4 B200 · 4 allocatable, ? allocated · by claim (DRA)"
    assert denied["claims"] == "You cannot list or watch resourceclaims.resource.k8s.io."
    blind = store(node(gpus=None), pod("own", gpus=0, traits=ASKS))
    told(blind, Kind.DEVICE_SLICE, Phase.DENIED, "You cannot list or watch resourceslices.")
    assert told_of(blind)["GPUs"] == "not known: You cannot list or watch resourceslices."


def test_a_pool_is_not_called_idle_where_claims_are_not_known() -> None:
    assert is_use_known(claimed())
    assert not is_use_known(claimed(phase=Phase.DENIED))
    plain = store(node(), pod("own", gpus=2))
    told(plain, Kind.DEVICE_CLAIM, Phase.DENIED)
    assert is_use_known(plain)


def test_claims_that_nobody_uses_make_nothing_unknown() -> None:
    made = store(node(), pod("own", gpus=2))
    told(made, Kind.DEVICE_CLAIM, Phase.DENIED)
    assert is_use_known(made)
    assert fleet(made).free == 6


def asks(spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "team-a"},
        "spec": {"template": {"spec": spec}},
    }


def test_whether_pods_with_claims_fit_is_unknown_and_says_why() -> None:
    spec = {"containers": [{"name": "main"}], "resourceClaims": [{"name": "gpus"}]}
    (told,) = fit_report(asks(spec), claimed())
    assert told.startswith("cannot tell whether it fits now: ")
    assert told.endswith(" pods ask for devices by claim (DRA), which only the scheduler can place")


def test_a_gpu_that_may_come_by_a_claim_of_the_schedulers_own_is_not_called_missing() -> None:
    limits = {"limits": {"nvidia.com/gpu": "1"}}
    first, *_ = fit_report(asks({"containers": [{"name": "main", "resources": limits}]}), with_amounts())
    assert first == "cannot tell whether it fits now: 1 node may serve this request through claims (DRA)"
    many = {"limits": {"cpu": "900"}}
    first, *_ = fit_report(asks({"containers": [{"name": "main", "resources": many}]}), with_amounts())
    assert first.startswith("pending: ")


def with_amounts() -> Store:
    """As `claimed`, with a node that states what it has, and no GPU among it."""
    amounts = (("cpu", 64_000), ("memory", 1 << 38), ("pods", 110))
    made = claimed()
    named = node(gpus=None, capacity=amounts, allocatable=amounts)
    made.apply(Batch(kind=Kind.NODE, changed=(named,)))
    return made


def test_a_shared_claim_is_told_by_each_of_its_pods() -> None:
    made = store(node(), pod("one", gpus=0, traits=ASKS), pod("two", gpus=0, traits=ASKS))
    made.apply(Batch(kind=Kind.DEVICE_CLAIM, changed=(claim("a", "gpu-0", of=("one", "two")),)))
    assert sorted(texts(pods.table(made, WHOLE, NOW), "gpus")) == ["1", "1s"]
