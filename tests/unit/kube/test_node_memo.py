"""Nodes that are like one seen before have the record that the parser would have made of them."""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cockpit.k8s.gpu_resources import declare
from cockpit.kube.decode import node_memo
from cockpit.kube.decode.decoders import _protobuf
from cockpit.kube.decode.node_memo import remembering_nodes, telling_labels
from cockpit.kube.decode.nodes import KEPT_ANNOTATIONS, node_record
from cockpit.kube.proto import core_pb2
from cockpit.model.accelerator_vendor import AcceleratorVendor
from tests.unit.kube.variants import Counting, changes, edited, edits, filled, needs_gist, outcome

PARSER = _protobuf(core_pb2.Node, node_record)
LABELS = {
    "kubernetes.io/hostname": "gpu-0",
    "nvidia.com/gpu.count": "8",
    "nvidia.com/gpu.memory": "81559",
    "nvidia.com/gpu.product": "H100",
    "nvidia.com/gpu.replicas": "2",
    "node.kubernetes.io/instance-type": "p5",
    "topology.kubernetes.io/zone": "a",
    "pool": "blue",
}
NOTES = {
    "cluster.x-k8s.io/machine": "machine-0",
    "cluster.x-k8s.io/owner-name": "set-0",
    "gpu-cockpit/hold": "yes",
    "volumes.kubernetes.io/controller-managed-attach-detach": "true",
}


def base(*, has_pool: bool = True) -> Any:
    """A node with every field; its pool is told by a label, or by annotations of Cluster API."""
    node = core_pb2.Node()
    filled(node)
    node.metadata.labels.clear()
    node.metadata.labels.update(LABELS)
    node.metadata.annotations.clear()
    node.metadata.annotations.update(NOTES)
    if has_pool:
        del node.metadata.annotations["cluster.x-k8s.io/owner-name"]
    else:
        del node.metadata.labels["pool"]
    node.status.conditions.add(type="Ready", status="True", reason="KubeletReady", message="is ready")
    node.status.addresses.add(type="InternalIP", address="10.0.0.1")
    node.status.addresses.add(type="InternalIP", address="10.0.0.2")
    return node


def raw_of(node: Any) -> bytes:
    """On the wire as Go writes it: maps in the order of their keys."""
    raw: bytes = node.SerializePartialToString(deterministic=True)
    return raw


@needs_gist
@pytest.mark.parametrize("has_pool", [True, False])
def test_whatever_field_differs_the_record_differs_as_the_parser_says(has_pool: bool) -> None:
    """Walks core.proto: a field that a record reads and the key forgets would show the first node's value."""
    fast = remembering_nodes(PARSER)
    plain = raw_of(base(has_pool=has_pool))
    assert fast(plain) == PARSER(plain)
    names = [name for name, _ in changes(base(has_pool=has_pool))]
    assert len(names) > 100
    wrong = []
    for number, name in enumerate(names):
        node = base(has_pool=has_pool)
        list(changes(node))[number][1]()
        for raw in (raw_of(node), node.SerializePartialToString()):
            # twice: what is asked anew is remembered by then
            told = [outcome(fast, raw), outcome(fast, raw), outcome(fast, plain)]
            if told != [outcome(PARSER, raw), outcome(PARSER, raw), PARSER(plain)]:
                wrong.append(name)
    assert not wrong


@needs_gist
@pytest.mark.parametrize("label", telling_labels())
def test_a_label_that_tells_something_is_never_taken_from_another_node(label: str) -> None:
    fast = remembering_nodes(PARSER)
    for value in ("4", "2", "", "4"):
        node = base(has_pool=False)
        node.metadata.labels[label] = value
        raw = raw_of(node)
        assert fast(raw) == PARSER(raw)


@needs_gist
def test_machines_of_a_pool_are_parsed_once() -> None:
    parser = Counting(PARSER)
    fast = remembering_nodes(parser)
    for number in range(20):
        node = base()
        node.metadata.name = f"gpu-{number}"
        node.metadata.uid = f"uid-{number}"
        node.metadata.resource_version = f"{100 + number}"
        node.metadata.creation_timestamp.seconds = 1_700_000_000 + number
        node.metadata.labels["kubernetes.io/hostname"] = f"gpu-{number}"
        node.metadata.labels[f"label-of-{number}"] = "\x1b[31m" + "ä" * (number * 20)
        node.metadata.annotations["cluster.x-k8s.io/machine"] = f"machine-{number}"
        node.spec.provider_id = f"aws:///{number}"
        node.status.addresses[1].address = f"10.0.0.{number}"
        node.status.conditions[0].last_transition_time.seconds = 1_700_000_100 + number
        node.status.capacity["memory"].string = f"{1000 + number}Ki"
        node.status.allocatable["nvidia.com/gpu"].string = str(number % 3)
        raw = raw_of(node)
        made = fast(raw)
        assert made == PARSER(raw)
        assert (made.name, made.gpu_allocatable) == (f"gpu-{number}", number % 3)
        assert (made.internal_ip, made.conditions[0].changed_seconds) == (
            f"10.0.0.{number}",
            1_700_000_100.0 + number,
        )
    assert parser.asked == 1


@needs_gist
@pytest.mark.parametrize(
    ("labels", "notes"),
    [
        ({"ä": "1"}, {}),
        ({"x" * 300: "1"}, {}),
        ({"x": "1" * 5000}, {}),
        ({"x": "\u202e1"}, {}),
        ({f"label-{number}": "1" for number in range(300)}, {}),
        ({}, {"note": "ä"}),
        ({}, {"ä": "note"}),
        ({}, {"gpu-cockpit/hold": "\x1b[31m"}),
        ({}, {"gpu-cockpit/hold": "x" * 10_000}),
        ({}, dict.fromkeys((f"{prefix}x" for prefix in KEPT_ANNOTATIONS), "1")),
    ],
)
def test_odd_labels_and_annotations_read_as_the_parser_reads_them(
    labels: dict[str, str], notes: dict[str, str]
) -> None:
    fast = remembering_nodes(PARSER)
    plain = raw_of(base())
    node = base()
    node.metadata.labels.update(labels)
    node.metadata.annotations.update(notes)
    odd = raw_of(node)
    for raw in (plain, odd, odd, plain):
        assert fast(raw) == PARSER(raw)


@needs_gist
def test_a_label_that_comes_twice_counts_as_the_parser_counts_it() -> None:
    fast = remembering_nodes(PARSER)
    plain = raw_of(base())
    again = core_pb2.Node(
        metadata={"labels": {"topology.kubernetes.io/zone": "b"}}
    ).SerializePartialToString()
    for raw in (plain, plain + again, plain + again, plain):
        assert fast(raw) == PARSER(raw)
    assert fast(plain + again).zone == "b"


@needs_gist
def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_memo, "KEPT", 10)
    parser = Counting(PARSER)
    fast = remembering_nodes(parser)
    for round_ in range(2):
        for number in range(15):
            node = base()
            node.status.node_info.kubelet_version = f"v1.{number}"
            assert fast(raw_of(node)).kubelet_version == f"v1.{number}"
        assert parser.asked == 15 * (round_ + 1)


def test_without_the_compiled_part_the_parser_is_asked_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_memo, "gist", None)
    assert remembering_nodes(PARSER) is PARSER


PLAIN = raw_of(base())


@needs_gist
@settings(max_examples=1000, deadline=None)
@given(edits(len(PLAIN)))
@example([("repeat", 0, 0)])
def test_hostile_bytes_read_as_the_parser_reads_them(damage: list[tuple[str, int, int]]) -> None:
    fast = remembering_nodes(PARSER)
    assert fast(PLAIN) == PARSER(PLAIN)
    raw = edited(PLAIN, damage)
    for _ in range(2):
        assert outcome(fast, raw) == outcome(PARSER, raw)


@needs_gist
@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_noise_is_read_as_the_parser_reads_it(noise: bytes) -> None:
    fast = remembering_nodes(PARSER)
    fast(PLAIN)
    for raw in (noise, PLAIN + noise, PLAIN + noise):
        assert outcome(fast, raw) == outcome(PARSER, raw)


@needs_gist
def test_vendors_that_are_declared_later_count_for_nodes_that_are_alike() -> None:
    vendor = AcceleratorVendor(name="T", resource="t.example/chip", model_label="t.example/model")
    decode = remembering_nodes(PARSER)

    def model(told: str) -> tuple[str, str]:
        wire = core_pb2.Node()
        wire.metadata.name = wire.metadata.uid = told
        wire.metadata.labels["t.example/model"] = told
        wire.status.capacity["t.example/chip"].string = "8"
        found = decode(wire.SerializeToString())
        return found.gpu_model, found.gpu_resource

    assert [model("a"), model("b")] == [("", ""), ("", "")]
    declare((vendor,))
    try:
        assert [model("a"), model("b")] == [("a", "t.example/chip"), ("b", "t.example/chip")]
    finally:
        declare(())
    assert model("a") == ("", "")
