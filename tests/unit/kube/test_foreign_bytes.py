"""What a terminal obeys, in every string field of every kind, in logs, errors and names of a kubeconfig."""

import json
import timeit
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import inspect

from cockpit.errors import Refused
from cockpit.kube.decode import decoders, shapes
from cockpit.kube.decode.autoscaler import StatusMapShape
from cockpit.kube.decode.claims import ClaimShape, SliceShape
from cockpit.kube.decode.decoders import Decoder, machine_decoder, pod_group_decoder, pool_decoder
from cockpit.kube.decode.groups import PodGroupShape
from cockpit.kube.decode.jobs import MpiJob
from cockpit.kube.decode.kueue import ClusterQueueShape, LocalQueueShape, WorkloadShape
from cockpit.kube.decode.machines import MachineShape
from cockpit.kube.decode.pools import PoolShape
from cockpit.kube.decode.volcano import VolcanoJob
from cockpit.kube.decode.wire import UndecodableError, read_status
from cockpit.kube.kubeconfig import context_names, context_namespaces
from cockpit.kube.log_lines import Cutter
from cockpit.kube.resource import MACHINE_DEPLOYMENTS, MACHINES, NODE_CLAIMS, NODE_POOLS, Resource
from cockpit.sanitise import clean
from tests.reliability.figures import Tell

GROUPS = Resource("scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup", namespaced=True)
KINDS: tuple[tuple[Decoder, type], ...] = (
    (decoders.POD, shapes.WirePod),
    (decoders.NODE, shapes.WireNode),
    (decoders.EVENT, shapes.WireEvent),
    (decoders.JOB, shapes.WireJob),
    (decoders.NAMESPACE, shapes.AnyObject),
    (decoders.OWNER, shapes.AnyObject),
    (decoders.MPIJOB, MpiJob),
    (decoders.VOLCANO_JOB, VolcanoJob),
    (decoders.WORKLOAD, WorkloadShape),
    (decoders.LOCAL_QUEUE, LocalQueueShape),
    (decoders.CLUSTER_QUEUE, ClusterQueueShape),
    (decoders.DEVICE_SLICE, SliceShape),
    (decoders.DEVICE_CLAIM, ClaimShape),
    (decoders.AUTOSCALER, StatusMapShape),
    (pool_decoder(MACHINE_DEPLOYMENTS), PoolShape),
    (pool_decoder(NODE_POOLS), PoolShape),
    (machine_decoder(MACHINES), MachineShape),
    (machine_decoder(NODE_CLAIMS), MachineShape),
    (pod_group_decoder(GROUPS, "coscheduling"), PodGroupShape),
)
CORPUS = (
    "\x1b[2J",  # CSI
    "\x1b]0;title\x07",  # OSC, ended with BEL
    "\x1b]8;;http://x\x1b\\",  # a link, ended with ST
    "\x1b]52;c;b3duZWQ=\x07",  # the clipboard
    "\x1bP+q\x1b\\",  # DCS
    "\x9b31m\x9d0;t\x9c\x90",  # C1
    "a\rb\bc\x00d\x7f\x0b\x0c",
    "\u202egnp\u2066\u2069\u200f",
)


def value_of(kind: Any, text: str) -> Any:
    """A value of that type with `text` in every string, also as a key."""
    if isinstance(kind, inspect.StructType):
        return {field.encode_name: value_of(field.type, text) for field in kind.fields}
    if isinstance(kind, inspect.DictType):
        return {text: value_of(kind.value_type, text), "gpu": value_of(kind.value_type, text)}
    if isinstance(kind, inspect.VarTupleType | inspect.ListType):
        return [value_of(kind.item_type, text)]
    if isinstance(kind, inspect.UnionType):
        return value_of(kind.types[0], text)
    if isinstance(kind, inspect.StrType | inspect.AnyType):
        return text
    return True if isinstance(kind, inspect.BoolType) else 1


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from texts([*value, *value.values()])
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts(item)


def places(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a string stands."""
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in pairs:
        if isinstance(value, str):
            yield (*path, key)
        else:
            yield from places(value, (*path, key))


def foreign(found: str) -> int:
    """Characters that a terminal obeys."""
    return sum(
        ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 or char in "\u202e\u2066\u2069\u200f" for char in found
    )


def objects(shape: type) -> Iterator[dict[str, Any]]:
    """The kind with every string hostile, and with each alone, with each text of the corpus."""
    kind = inspect.type_info(shape)
    for text in CORPUS:
        yield value_of(kind, text)
        for path in places(value_of(kind, "x")):
            tree = around = value_of(kind, "x")
            for key in path[:-1]:
                around = around[key]
            around[path[-1]] = text
            yield tree


@pytest.mark.row(41, "fields with each of the texts", least=2_000)
@pytest.mark.row(41, "foreign control characters in records", most=0)
def test_no_field_of_any_kind_brings_what_a_terminal_obeys(figure: Tell) -> None:
    tried = read = bad = 0
    for decoder, shape in KINDS:
        for tree in objects(shape):
            tried += 1
            try:
                record = decoder.from_json(json.dumps(tree).encode())
            except UndecodableError as error:
                bad += foreign(str(error))
                continue
            if record is not None:
                read += 1
                bad += sum(map(foreign, texts(msgspec.to_builtins(record))))
    assert read > tried * 0.9
    figure("fields with each of the texts", tried)
    figure("foreign control characters in records", bad)


@pytest.mark.row(41, "foreign control characters in logs, errors and names of contexts", most=0)
def test_logs_errors_and_names_of_contexts_bring_none(tmp_path: Path, figure: Tell) -> None:
    bad = 0
    for text in CORPUS:
        bad += sum(foreign(piece.text) for piece in Cutter().feed(f"2026-11-01T10:00:00Z {text}\n".encode()))
        status = {"kind": "Status", "message": text, "reason": text, "details": {"name": text, "kind": text}}
        said = read_status(json.dumps(status).encode())
        bad += sum(map(foreign, (said.message, said.reason, said.name, said.kind, Refused(text).sentence)))
        named = {"name": text, "context": {"cluster": text, "user": text, "namespace": text}}
        path = tmp_path / "kubeconfig"
        path.write_text(json.dumps({"kind": "Config", "contexts": [named], "current-context": text}))
        names = context_names(str(path)) + context_namespaces(str(path), text)
        assert names
        bad += sum(map(foreign, names))
    figure("foreign control characters in logs, errors and names of contexts", bad)


@pytest.mark.row(41, "what cleaning a clean name costs", most=100, unit="ns")
def test_what_cleaning_a_clean_name_costs(figure: Tell) -> None:
    rounds = 20_000
    seconds = min(timeit.repeat(lambda: clean("llm-pretrain-worker-17"), number=rounds, repeat=20))
    empty = min(timeit.repeat(lambda: None, number=rounds, repeat=20))
    figure("what cleaning a clean name costs", (seconds - empty) / rounds * 1e9)
