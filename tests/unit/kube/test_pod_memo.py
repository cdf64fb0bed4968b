"""Pods that are like one seen before have the record that the parser would have made of them."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cockpit.kube.decode import decoders, pod_memo
from cockpit.kube.decode.decoders import _protobuf
from cockpit.kube.decode.pods import RANK_ANNOTATIONS, RANK_LABELS, pod_record
from cockpit.kube.decode.traits import MEMBER_LABELS
from cockpit.kube.proto import core_pb2, meta_pb2
from tests.unit.kube.variants import ODD, Counting, changes, edited, edits, filled, needs_gist, outcome

PARSER = _protobuf(core_pb2.Pod, pod_record)


KINDS = ("waits", "over", "akin")


def base(kind: str = "waits") -> Any:
    """A pod with every field, that waits, or is over: then other fields of it count.

    One that is akin has no field of the spec that goes together with metadata.
    """
    pod = core_pb2.Pod()
    filled(pod)
    if kind == "akin":
        pod.spec.ClearField("scheduling_group")
        pod.spec.ClearField("affinity")
    if kind == "over":
        pod.status.phase = "Failed"
        pod.metadata.annotations.clear()
        pod.spec.init_containers[0].restart_policy = "Always"
    return pod


def changed(number: int, kind: str) -> bytes:
    pod = base(kind)
    _, change = list(changes(pod))[number]
    change()
    raw: bytes = pod.SerializePartialToString()
    return raw


@needs_gist
@pytest.mark.parametrize("kind", KINDS)
def test_whatever_field_differs_the_record_differs_as_the_parser_says(kind: str) -> None:
    """Walks core.proto: a field that a record reads and the key forgets would show the first pod's value."""
    fast = pod_memo.remembering(PARSER)
    plain = base(kind).SerializePartialToString()
    assert fast(plain) == PARSER(plain)
    names = [name for name, _ in changes(base(kind))]
    assert len(names) > 250
    wrong = []
    for number, name in enumerate(names):
        raw = changed(number, kind)
        # twice: what is asked anew is remembered by then
        if [outcome(fast, raw), outcome(fast, raw), outcome(fast, plain)] != [
            outcome(PARSER, raw),
            outcome(PARSER, raw),
            PARSER(plain),
        ]:
            wrong.append(name)
    assert not wrong


@needs_gist
def test_members_of_a_job_are_parsed_once() -> None:
    parser = Counting(PARSER)
    fast = pod_memo.remembering(parser)
    for number in range(20):
        pod = base()
        pod.metadata.name = f"worker-{number}"
        pod.metadata.uid = f"uid-{number}"
        pod.metadata.resource_version = f"{100 + number}"
        pod.metadata.creation_timestamp.seconds = 1_700_000_000 + number
        pod.metadata.labels["training.kubeflow.org/replica-index"] = str(number)
        pod.spec.node_name = f"gpu-{number}"
        pod.status.pod_ip = f"10.0.0.{number}"
        pod.status.start_time.seconds = 1_700_000_100 + number
        raw = pod.SerializePartialToString()
        made = fast(raw)
        assert made == PARSER(raw)
        assert (made.rank, made.node) == (number, f"gpu-{number}")
    assert parser.asked == 1


@needs_gist
def test_jobs_whose_pods_differ_in_metadata_only_are_parsed_once() -> None:
    parser = Counting(PARSER)
    fast = pod_memo.remembering(parser)
    for number in range(20):
        pod = base("akin")
        meta = pod.metadata
        meta.name, meta.uid, meta.resource_version = f"pod-{number}", f"uid-{number}", str(number)
        meta.namespace = f"team-{number}"
        meta.labels["training.kubeflow.org/job-name"] = f"job-{number}\x1b[31m"
        meta.labels["training.kubeflow.org/job-role"] = f"Role-{number}"
        meta.labels["scheduling.x-k8s.io/pod-group"] = f"gang-{number}"
        meta.annotations["batch.kubernetes.io/job-completion-index"] = str(number)
        meta.owner_references[0].name = f"owner-{number}"
        meta.owner_references[0].controller = number % 2 == 0
        pod.spec.node_name = f"gpu-{number}"
        pod.status.pod_ip = f"10.0.0.{number}"
        pod.status.start_time.seconds = 1_700_000_000 + number
        raw = pod.SerializePartialToString()
        for _ in range(2):
            made = fast(raw)
            assert made == PARSER(raw)
            assert (made.gang, made.node, made.owner_name) == (
                f"gang-{number}",
                f"gpu-{number}",
                "" if number % 2 else f"owner-{number}",
            )
    assert parser.asked == 1


@needs_gist
def test_jobs_whose_volumes_have_names_of_their_own_are_parsed_once() -> None:
    parser = Counting(PARSER)
    fast = pod_memo.remembering(parser)
    for number in (*range(10), 3, 40, 41):
        pod = base("akin")
        pod.metadata.uid = f"uid-{number}"
        pod.metadata.labels["training.kubeflow.org/job-name"] = f"job-{number}"
        source = pod.spec.volumes[0].volume_source
        source.Clear()
        source.config_map.local_object_reference.name = f"config-{number}\x1b[31m"
        source.config_map.optional = number % 5 == 4
        if number == 40:
            pod.spec.ClearField("volumes")
        if number % 2:
            pod.spec.volumes.add().volume_source.empty_dir.SetInParent()
        for _ in range(number % 3):
            pod.spec.volumes.add().volume_source.persistent_volume_claim.claim_name = f"claim-{number}"
        raw = pod.SerializePartialToString()
        for _ in range(2):
            made = fast(raw)
            assert made == PARSER(raw)
            assert made.traits.claims == (f"claim-{number}",) * (number % 3)
            assert made.traits.wishes.keeps_files == bool(number % 2)
            assert bool(made.traits.wishes.config_maps) == (number % 5 != 4 and number != 40)
    assert parser.asked == 1


@needs_gist
def test_volumes_that_cannot_be_read_are_the_parsers_to_refuse() -> None:
    fast = pod_memo.remembering(PARSER)
    plain = base("akin").SerializePartialToString()
    assert fast(plain) == PARSER(plain)
    for content in (b"\xff", b"\x08", b"\x0a\x01\xff", b"\x0a\x02x"):
        for number in (10, 19):  # a claim, a ConfigMap
            source = bytes((number << 3 & 0x7F | 0x82, number >> 4, len(content))) + content
            raw = plain + raw_field((2, 1, 2), source)
            assert outcome(fast, raw) == outcome(fast, raw) == outcome(PARSER, raw)


@needs_gist
def test_what_goes_together_with_metadata_is_parsed_for_each() -> None:
    for field in ("scheduling_group", "pod_affinity", "pod_anti_affinity"):
        parser = Counting(PARSER)
        fast = pod_memo.remembering(parser)
        for number in range(3):
            pod = base()
            if field != "scheduling_group":
                pod.spec.ClearField("scheduling_group")
            for other in {"pod_affinity", "pod_anti_affinity"} - {field}:
                pod.spec.affinity.ClearField(other)
            for side in (pod.spec.affinity.pod_affinity, pod.spec.affinity.pod_anti_affinity):
                for term in side.required_during_scheduling_ignored_during_execution:
                    term.ClearField("namespaces")
                    term.ClearField("namespace_selector")
            pod.metadata.namespace = f"team-{number}"
            raw = pod.SerializePartialToString()
            assert fast(raw) == PARSER(raw)
        assert parser.asked == 3


@needs_gist
def test_a_pod_that_cannot_be_read_is_remembered_by_nobody() -> None:
    parser = Counting(PARSER)
    fast = pod_memo.remembering(parser)
    raw = base().SerializePartialToString() + b"\xff"
    for _ in range(2):
        with pytest.raises(ODD):
            fast(raw)
    assert parser.asked == 2


def metadata(**fields: Any) -> bytes:
    """More of the metadata, to be put behind a pod: the parser merges what comes twice."""
    more = core_pb2.Pod()
    for name, value in fields.items():
        if isinstance(value, str):
            setattr(more.metadata, name, value)
        else:
            getattr(more.metadata, name).CopyFrom(value)
    raw: bytes = more.SerializePartialToString()
    return raw


def raw_field(path: tuple[int, ...], inner: bytes) -> bytes:
    """`inner` as the content of the message at that path of field numbers."""
    for number in reversed(path):
        inner = bytes((number << 3 | 2, len(inner))) + inner
    return inner


@needs_gist
@pytest.mark.parametrize(
    "behind",
    [
        metadata(name="other"),
        metadata(creation_timestamp=meta_pb2.Time(nanos=500_000_000)),
        metadata(namespace="other"),
        raw_field((1,), b"\x0d\x00\x00\x00\x00"),  # the name as a number of four bytes
        raw_field((2,), b"\x58\x00"),
        b"\x1b\x1c",  # a group
        b"\x05",
    ],
)
def test_what_comes_twice_or_is_broken_is_merged_or_refused_as_the_parser_does(behind: bytes) -> None:
    fast = pod_memo.remembering(PARSER)
    plain = base().SerializePartialToString()
    for raw in (plain, plain + behind, plain + behind + behind, plain):
        assert outcome(fast, raw) == outcome(PARSER, raw)
        assert outcome(fast, raw) == outcome(PARSER, raw)


@needs_gist
@pytest.mark.parametrize(
    "path", [(3, 2, 4), (3, 8, 2, 3, 5), (3, 8, 2, 3, 6), (3, 10, 3, 3, 5), (1, 8), (3, 7)]
)
def test_a_time_that_is_broken_is_refused_although_no_record_reads_it(path: tuple[int, ...]) -> None:
    fast = pod_memo.remembering(PARSER)
    plain = core_pb2.Pod(metadata={"uid": "uid"}).SerializePartialToString()
    sound, broken = (plain + raw_field(path, time) for time in (b"\x08\x01", b"\x08\xff"))
    assert outcome(fast, sound) == PARSER(sound)
    assert outcome(fast, broken) == outcome(PARSER, broken) == "undecodable"


@needs_gist
def test_a_key_tells_a_field_of_a_container_from_one_of_the_pod() -> None:
    """The restart policy of a container and the priority class of a pod have the same number, 24."""
    fast = pod_memo.remembering(PARSER)
    of_container, of_pod = core_pb2.Pod(), core_pb2.Pod()
    for pod in (of_container, of_pod):
        pod.metadata.uid = "uid"
        pod.spec.init_containers.add()
    of_container.spec.init_containers[0].restart_policy = "Always"
    of_pod.spec.priority_class_name = "Always"
    for made in (of_container, of_pod, of_container):
        raw = made.SerializePartialToString()
        assert fast(raw) == PARSER(raw)
    assert fast(of_pod.SerializePartialToString()).priority_class == "Always"


@needs_gist
def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_memo, "KEPT", 10)
    parser = Counting(PARSER)
    fast = pod_memo.remembering(parser)
    for round_ in range(2):
        for number in range(15):
            pod = base()
            pod.status.message = f"said {number}"
            assert fast(pod.SerializePartialToString()).status_message == f"said {number}"
        assert parser.asked == 15 * (round_ + 1)


def test_without_the_compiled_part_the_parser_is_asked_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_memo, "Members", None)
    assert pod_memo.remembering(PARSER) is PARSER


def test_every_label_and_annotation_that_tells_a_rank_is_told_beside_the_key() -> None:
    assert set(RANK_LABELS) <= MEMBER_LABELS
    assert all(one.encode() in pod_memo._NAMES[1] for one in RANK_ANNOTATIONS)
    assert decoders.POD.from_protobuf is not None


PLAIN = base().SerializePartialToString()
AKIN = base("akin").SerializePartialToString()


@needs_gist
@pytest.mark.parametrize("plain", [PLAIN, AKIN], ids=["waits", "akin"])
@settings(max_examples=1000, deadline=None)
@given(damage=edits(len(AKIN)))
@example(damage=[("repeat", 0, 0)])
def test_hostile_bytes_read_as_the_parser_reads_them(
    plain: bytes, damage: list[tuple[str, int, int]]
) -> None:
    fast = pod_memo.remembering(PARSER)
    assert fast(plain) == PARSER(plain)
    raw = edited(plain, damage)
    for _ in range(2):
        assert outcome(fast, raw) == outcome(PARSER, raw)


@needs_gist
@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=200))
def test_noise_is_read_as_the_parser_reads_it(noise: bytes) -> None:
    fast = pod_memo.remembering(PARSER)
    assert outcome(fast, noise) == outcome(PARSER, noise)
    behind = PLAIN + noise
    fast(PLAIN)
    assert outcome(fast, behind) == outcome(PARSER, behind)
    assert outcome(fast, behind) == outcome(PARSER, behind)


@needs_gist
def test_ranks_are_read_where_protobuf_is_pure_python() -> None:
    """As on musl, for which protobuf has no wheel with a part in C."""
    program = """
from google.protobuf.internal import api_implementation
from tests.unit.kube.test_pod_memo import PARSER, base, pod_memo
assert api_implementation.Type() == "python"
fast = pod_memo.remembering(PARSER)
for rank in range(3):
    pod = base()
    pod.metadata.labels["training.kubeflow.org/replica-index"] = str(rank)
    raw = pod.SerializePartialToString()
    assert PARSER(raw).rank == rank
    assert fast(raw) == PARSER(raw)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).resolve().parents[3],
        env={**os.environ, "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
