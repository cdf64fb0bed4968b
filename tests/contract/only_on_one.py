"""Every case that only one of the two servers can run, and why. `test_only_on_one.py` keeps it exact."""

from collections.abc import Iterator
from dataclasses import dataclass

_PROTOBUF = (
    "the embedded server speaks JSON alone; the cockpit reads both, and the real server proves the other"
)
_KINDS = "the embedded server serves a stated list of kinds and answers 404 for every other one"
_STREAMS = "the gate PodLogsQuerySplitStreams is alpha and off by default; the embedded cluster has it on"
_LOOPBACK = "kube-apiserver dials no loopback address, and the pods of the embedded cluster live on this host"


@dataclass(frozen=True)
class Only:
    """`server` is the one that can."""

    server: str
    reason: str


ONLY_ON_ONE: dict[str, Only] = {
    "test_content.py::test_one_bad_object_in_protobuf_costs_one_row": Only("real", _PROTOBUF),
    "test_wires.py::test_a_list_in_both_encodings_gives_the_same_records": Only("real", _PROTOBUF),
    "test_wires.py::test_a_pods_numbers_are_the_same_in_both": Only("real", _PROTOBUF),
    "test_wires.py::test_a_watch_in_both_encodings_gives_the_same_rows": Only("real", _PROTOBUF),
    "test_wires.py::test_an_error_is_read_in_both_encodings": Only("real", _PROTOBUF),
    "test_wires.py::test_the_reflector_asks_for_protobuf_and_gets_it": Only("real", _PROTOBUF),
    "test_logs.py::test_with_its_gate_one_stream_alone_is_read_without_a_number_of_lines": Only(
        "embedded", _STREAMS
    ),
    "test_logs.py::test_without_its_gate_one_stream_alone_is_refused_in_a_sentence": Only("real", _STREAMS),
    "test_nodes.py::test_a_pod_on_this_host_is_reached_through_the_proxy": Only("embedded", _LOOPBACK),
    "test_nodes.py::test_a_pod_on_this_host_is_not_dialled": Only("real", _LOOPBACK),
    "test_people.py::test_a_kind_that_is_left_out_is_not_found": Only("embedded", _KINDS),
}


def table() -> Iterator[str]:
    """Lines to print."""
    for case, only in sorted(ONLY_ON_ONE.items()):
        yield f"{only.server:9}{case}: {only.reason}"
