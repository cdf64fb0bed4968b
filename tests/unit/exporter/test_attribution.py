"""Whose card it is: spellings by example, the join by properties."""

from random import Random
from typing import Any

import pytest
from cockpit_exporter.agent import pod_uid
from cockpit_exporter.attribution import Assignment, Holder, Joined, join, parsed
from cockpit_exporter.model import Card, Device, Instance, Process
from cockpit_exporter.slices import uuids
from hypothesis import given
from hypothesis import strategies as st

UID = "1c2d3e4f-aaaa-bbbb-cccc-0123456789ab"


@pytest.mark.parametrize(
    ("device_id", "uuid", "minor", "instance", "is_share"),
    [
        ("GPU-1", "GPU-1", None, None, False),
        ("GPU-1::3", "GPU-1", None, None, True),
        ("MIG-1::0", "MIG-1", None, None, True),
        ("nvidia7", "", 7, None, False),
        ("nvidia7::1", "", 7, None, True),
        ("nvidia7/gi3", "", 7, 3, False),
        ("nvidia7/gi3/vgpu1", "", 7, 3, True),
        ("nvidia7/vgpu2", "", 7, None, True),
        ("nvidia7x", "nvidia7x", None, None, False),
        ("::3", "::3", None, None, False),
        ("", "", None, None, False),
    ],
)
def test_device_ids_are_spelled_in_many_ways(
    device_id: str, uuid: str, minor: int | None, instance: int | None, is_share: bool
) -> None:
    assert tuple(parsed(device_id)) == (uuid, minor, instance, is_share)


@pytest.mark.parametrize(
    ("text", "uid"),
    [
        (f"0::/kubepods/burstable/pod{UID}/0011aa\n", UID),
        (f"0::/../../kubepods-besteffort-pod{UID.replace('-', '_')}.slice/cri-containerd-00.scope\n", UID),
        (f"5:devices:/kubepods/pod{UID}/aa\n4:cpu:/kubepods/pod{UID}/aa\n", UID),
        ("0::/kubepods/pod0123456789abcdef0123456789abcdef/aa\n", "0123456789abcdef0123456789abcdef"),
        ("0::/system.slice/podman.service\n", ""),
        ("0::/\n", ""),
        (f"0::/kubepods/pod{UID.replace('-', '')[:31]}/aa\n", ""),
        (f"0::/tripod{UID}x\n", ""),
    ],
)
def test_the_pod_of_a_process_is_in_its_cgroup(text: str, uid: str) -> None:
    assert pod_uid(text) == uid


@given(st.text(alphabet="pod-_0123456789abcdef/.:\n", max_size=300))
def test_any_cgroup_file_gives_a_uid_or_nothing(text: str) -> None:
    found = pod_uid(text)
    assert found == "" or len(found) in (32, 36)


# --- a node, and assignments that speak of it in any spelling


@st.composite
def nodes(draw: st.DrawFn) -> list[Card]:
    """Cards whose index and minor number differ, some of them cut into instances."""
    minors = draw(st.permutations(range(draw(st.integers(1, 8)))))
    cards = []
    for index, minor in enumerate(minors):
        uuid = f"GPU-{minor}"
        count = draw(st.sampled_from([0, 0, 1, 3]))
        instances = tuple(
            Instance(f"MIG-{minor}-{one}", one + 1, 0, draw(st.sampled_from(["1g.10gb", "3g.40gb"])))
            for one in range(count)
        )
        cards.append(Card(Device(uuid, index, minor), 0.0, instances=instances))
    return cards


NAMES = st.sampled_from(["a", "b", "c"])


@st.composite
def assignments(draw: st.DrawFn, cards: list[Card]) -> tuple[Assignment, tuple[str, str] | None]:
    """An assignment and the unit that it means, None for a card of elsewhere."""
    who = (draw(NAMES), draw(NAMES), draw(NAMES))
    card = draw(st.sampled_from(cards))
    uuid, minor = card.device.uuid, card.device.minor
    share = draw(st.sampled_from(["", "::0", "::7"]))
    spelled = draw(st.sampled_from(["uuid", "minor", "dra", "instance", "slot", "strange"]))
    match spelled:
        case "uuid":
            return Assignment(*who, "nvidia.com/gpu", uuid + share), (uuid, "")
        case "minor":
            return Assignment(*who, "nvidia.com/gpu", f"nvidia{minor}{share}"), (uuid, "")
        case "dra":
            claimed = Assignment(*who, claim="x", driver="gpu.nvidia.com", pool="n", device=f"gpu-{minor}")
            return claimed, (uuid, "")
        case "instance" | "slot" if card.instances:
            one = draw(st.sampled_from(card.instances))
            slot = f"nvidia{minor}/gi{one.gpu_instance}"
            name = one.uuid if spelled == "instance" else slot
            return Assignment(*who, "nvidia.com/mig-x", name + share), (uuid, one.uuid)
        case _:
            return Assignment(*who, "nvidia.com/gpu", f"GPU-elsewhere{share}"), None


@st.composite
def situations(draw: st.DrawFn) -> tuple[list[Card], list[tuple[Assignment, tuple[str, str] | None]]]:
    cards = draw(nodes())
    return cards, draw(st.lists(assignments(cards), max_size=12))


def whos(joined: Joined) -> set[tuple[tuple[str, str], tuple[str, str, str]]]:
    return {
        (unit, (one.namespace, one.pod, one.container))
        for unit, holders in joined.holders.items()
        for one in holders
    }


Situation = tuple[list[Card], list[tuple[Assignment, tuple[str, str] | None]]]


@given(situations())
def test_each_assignment_finds_exactly_its_unit_or_is_told_as_unmatched(situation: Situation) -> None:
    cards, told = situation
    joined = join(cards, [one for one, _ in told])
    assert whos(joined) == {(unit, tuple(one[:3])) for one, unit in told if unit is not None}
    assert set(joined.unmatched) == {one.device_id for one, unit in told if unit is None}


@given(situations(), st.integers())
def test_the_order_of_cards_and_of_pods_makes_no_difference(situation: Situation, seed: int) -> None:
    cards, told = situation
    given_so = [one for one, _ in told]
    random = Random(seed)
    other_cards, other = random.sample(cards, len(cards)), random.sample(given_so, len(given_so))
    assert join(cards, given_so) == join(other_cards, other)


@given(situations())
def test_a_share_is_counted_and_belongs_to_the_same_card(situation: Situation) -> None:
    cards, told = situation
    joined = join(cards, [one for one, _ in told])
    for unit, holders in joined.holders.items():
        shares = sum(parsed(one.device_id).is_share for one, of in told if of == unit)
        assert sum(one.replicas for one in holders) == shares


@given(situations())
def test_no_holder_is_on_a_unit_that_the_node_does_not_have(situation: Situation) -> None:
    cards, told = situation
    have = {(card.device.uuid, "") for card in cards}
    have |= {(card.device.uuid, one.uuid) for card in cards for one in card.instances}
    joined = join(cards, [one for one, _ in told], [one.device_id for one, _ in told if one.device_id])
    assert set(joined.holders) <= have
    assert joined.allocatable is not None
    assert joined.allocatable <= have


@given(situations(), st.integers(0, 7))
def test_a_card_without_a_uuid_holds_nothing_and_disturbs_nothing(situation: Situation, index: int) -> None:
    cards, told = situation
    given_so = [one for one, _ in told]
    lost = Card(Device("", index), 0.0, down="gpu-is-lost")
    assert join([*cards, lost], given_so) == join(cards, given_so)


# --- precedence, DRA and processes


def card(minor: int, *instances: Instance, processes: tuple[Process, ...] = ()) -> Card:
    return Card(Device(f"GPU-{minor}", 9 - minor, minor), 0.0, instances=instances, processes=processes)


def dra(device: str, driver: str = "gpu.nvidia.com") -> Assignment:
    return Assignment("ns", "pod", "main", claim="c", driver=driver, pool="node", device=device)


def test_a_slice_says_more_than_a_name() -> None:
    cards = [card(0), card(1)]
    joined = join(cards, [dra("gpu-0")], slices={("gpu.nvidia.com", "node", "gpu-0"): "GPU-1"})
    assert list(joined.holders) == [("GPU-1", "")]


def test_a_slice_of_a_card_elsewhere_matches_nothing() -> None:
    joined = join([card(0)], [dra("gpu-0")], slices={("gpu.nvidia.com", "node", "gpu-0"): "GPU-elsewhere"})
    assert (dict(joined.holders), joined.unmatched) == ({}, ("node/gpu-0",))


def test_a_name_alone_is_told_as_not_sure_and_a_slice_or_cdi_name_as_proof() -> None:
    cards = [card(0), card(1)]

    def source(one: Assignment, **more: Any) -> str:
        ((holder,),) = join(cards, [one], **more).holders.values()
        return holder.source

    assert source(dra("gpu-0")) == "dra-name"
    assert source(dra("gpu-0"), slices={("gpu.nvidia.com", "node", "gpu-0"): "GPU-1"}) == "dra"
    cdi = dra("gpu-9")._replace(cdi=("k8s.gpu.nvidia.com/claim=c-gpu-9", "nvidia.com/gpu=GPU-1"))
    assert source(cdi) == "dra"
    assert list(join(cards, [cdi]).holders) == [("GPU-1", "")]


def test_a_slice_of_another_driver_in_a_pool_of_the_same_name_proves_nothing() -> None:
    joined = join([card(0), card(1)], [dra("gpu-0")], slices={("nic.example.com", "node", "gpu-0"): "GPU-1"})
    assert list(joined.holders) == [("GPU-0", "")]


def test_a_claim_shared_by_pods_gives_the_card_all_of_them() -> None:
    told = [dra("gpu-0")._replace(pod=name) for name in ("one", "two")]
    ((holders),) = join([card(0)], told).holders.values()
    assert [(one.pod, one.claim) for one in holders] == [("one", "c"), ("two", "c")]


def test_a_pod_with_admin_access_looks_at_a_card_and_does_not_hold_it() -> None:
    seen, held = dra("gpu-0")._replace(pod="monitor", claim="all"), dra("gpu-0")
    watched = [("ns", "all", ("gpu.nvidia.com", "node", "gpu-0"))]
    ((holders),) = join([card(0)], [seen, held], watched=watched).holders.values()
    assert [one.pod for one in holders] == ["pod"]


def test_another_drivers_device_of_the_same_name_is_not_ours() -> None:
    assert join([card(0)], [dra("gpu-0", "gpu.example.com")]).unmatched == ("node/gpu-0",)


def test_an_instance_is_told_by_its_profile_only_where_there_is_one_of_it() -> None:
    one = Instance("MIG-a", 1, 0, "1g.10gb")
    two = Instance("MIG-b", 2, 0, "1g.10gb")
    device = dra("gpu-0-mig-1g.10gb-3")
    assert list(join([card(0, one)], [device]).holders) == [("GPU-0", "MIG-a")]
    assert join([card(0, one, two)], [device]).unmatched == ("node/gpu-0-mig-1g.10gb-3",)


def test_processes_tell_only_where_the_kubelet_does_not() -> None:
    process = Process(1, "compute", 1.0, pod_uid=UID)
    cards = [card(0, processes=(process,)), card(1, processes=(process,))]
    joined = join(
        cards, [Assignment("ns", "pod", "main", "nvidia.com/gpu", "GPU-0")], names={UID: ("n", "p")}
    )
    assert joined.holders["GPU-0", ""] == (Holder("ns", "pod", "main", "pod-resources"),)
    assert joined.holders["GPU-1", ""] == (Holder("n", "p", "", "process", pod_uid=UID),)


def test_a_process_on_an_instance_that_is_not_known_names_nobody() -> None:
    instance = Instance("MIG-a", 1, 0, "1g.10gb")
    there = Process(1, "compute", 1.0, instance=1, pod_uid=UID)
    gone = Process(2, "compute", 1.0, instance=6, pod_uid=UID)
    assert list(join([card(0, instance, processes=(there,))], ()).holders) == [("GPU-0", "MIG-a")]
    assert dict(join([card(0, instance, processes=(gone,))], ()).holders) == {}


def slice_of(
    devices: dict[str, str], *, generation: int = 1, count: int = 1, pool: str = "node"
) -> dict[str, object]:
    return {
        "spec": {
            "driver": "gpu.nvidia.com",
            "pool": {"name": pool, "generation": generation, "resourceSliceCount": count},
            "devices": [
                {"name": name, "attributes": {"uuid": {"string": uuid}}} for name, uuid in devices.items()
            ],
        }
    }


def test_of_a_pool_only_the_newest_whole_generation_counts() -> None:
    old, new = slice_of({"gpu-0": "GPU-old"}), slice_of({"gpu-0": "GPU-new"}, generation=2)
    first, second = ("gpu.nvidia.com", "node", "gpu-0"), ("gpu.nvidia.com", "node", "gpu-1")
    assert uuids([new, old]) == {first: "GPU-new"}
    assert uuids([old, new]) == {first: "GPU-new"}
    half = slice_of({"gpu-0": "GPU-half"}, generation=3, count=2)
    assert uuids([new, half]) == {}
    other = slice_of({"gpu-1": "GPU-other"}, generation=3, count=2)
    assert uuids([half, other]) == {first: "GPU-half", second: "GPU-other"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["items", "spec", "pool", "devices", "driver", "name"]), inner, max_size=3
        )
    ),
    max_leaves=15,
)


@given(JSON)
def test_a_list_of_another_shape_gives_no_devices_and_no_error(tree: object) -> None:
    assert uuids(tree) == {}
