"""Which decoder belongs to which resource."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec
from google.protobuf.message import DecodeError

from cockpit.errors import BadInput
from cockpit.kube.decode import shapes
from cockpit.kube.decode.autoscaler import StatusMapShape, autoscaler_status
from cockpit.kube.decode.claims import ClaimShape, SliceShape, claim_record, slice_record
from cockpit.kube.decode.common import cleaned, controller, identity, labels, reclaim_mark
from cockpit.kube.decode.events import event_record
from cockpit.kube.decode.groups import PodGroupShape, pod_group_record
from cockpit.kube.decode.jobs import MpiJob, job_record, mpijob_record
from cockpit.kube.decode.kueue import (
    ClusterQueueShape,
    LocalQueueShape,
    WorkloadShape,
    cluster_queue_record,
    local_queue_record,
    workload_record,
)
from cockpit.kube.decode.machines import MachineShape, machine_record
from cockpit.kube.decode.node_memo import remembering_nodes
from cockpit.kube.decode.nodes import node_record
from cockpit.kube.decode.other_jobs import other_job_decode
from cockpit.kube.decode.pod_memo import remembering
from cockpit.kube.decode.pods import pod_record
from cockpit.kube.decode.pools import PoolShape, pool_record
from cockpit.kube.decode.reading import JSON, PROTOBUF, Reading
from cockpit.kube.decode.volcano import VolcanoJob, volcano_job_record
from cockpit.kube.decode.wire import JSON as JSON_TYPE
from cockpit.kube.decode.wire import PROTOBUF as PROTOBUF_TYPE
from cockpit.kube.decode.wire import UndecodableError, read_json
from cockpit.kube.proto import batch_pb2, core_pb2, meta_pb2
from cockpit.kube.resource import Resource
from cockpit.model.job import OwnerObject
from cockpit.model.record import Kind, Record
from cockpit.model.watched import Watched
from cockpit.sanitise import WORDS

R = TypeVar("R", bound=Record)

Decode = Callable[[bytes], Record | None]
"""Raw bytes of one object to its record; None for an object that is no row. Raises UndecodableError."""


class Decoder(msgspec.Struct, frozen=True):
    """How objects of one resource become records of one kind."""

    kind: str
    from_json: Decode
    from_protobuf: Decode | None = None

    @property
    def accept_list(self) -> str:
        """Accept header of a list."""
        return f"{PROTOBUF_TYPE},{JSON_TYPE};q=0.9" if self.from_protobuf else JSON_TYPE

    @property
    def accept_watch(self) -> str:
        """Accept header of a watch."""
        return f"{PROTOBUF_TYPE};stream=watch,{JSON_TYPE};q=0.9" if self.from_protobuf else JSON_TYPE

    def for_type(self, content_type: str) -> Decode:
        """The function for the encoding that the server chose. Raises UndecodableError."""
        if not content_type.lower().startswith(PROTOBUF_TYPE):
            return self.from_json
        if self.from_protobuf is None:
            raise UndecodableError("the server answered in protobuf, which was not offered")
        return self.from_protobuf


def _json(shape: type[Any], record: Callable[[Any], Record | None]) -> Decode:
    decoder = msgspec.json.Decoder(shape)
    fast = decoder.decode

    def decode(raw: bytes) -> Record | None:
        try:
            tree = fast(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            tree = read_json(decoder, raw)
        try:
            made = record(tree)
        except BadInput as error:  # a name that is none, where a path is made of it
            raise UndecodableError(error.sentence) from None
        if made is not None and not made.uid:
            raise UndecodableError("an object without metadata.uid")
        return made

    return decode


def _protobuf(message: Any, record: Callable[[Any, Reading], R]) -> Callable[[bytes], R]:
    parse = message.FromString

    def decode(raw: bytes) -> R:
        try:
            made = record(parse(raw), PROTOBUF)
        except (DecodeError, UnicodeDecodeError) as error:
            raise UndecodableError(f"not readable as protobuf ({type(error).__name__})") from None
        if not made.uid:
            raise UndecodableError("an object without metadata.uid")
        return made

    return decode


def _both(kind: str, shape: type[Any], message: Any, record: Callable[[Any, Reading], Record]) -> Decoder:
    return Decoder(kind, _json(shape, lambda tree: record(tree, JSON)), _protobuf(message, record))


def _plain_record(thing: Any, reading: Reading) -> Record:
    return Record(**identity(thing.metadata, reading))


def owner_record(thing: shapes.AnyObject) -> OwnerObject:
    """The record of any controller, from its metadata alone."""
    return OwnerObject(
        **identity(thing.metadata, JSON),
        api_version=WORDS[thing.api_version],
        kind=WORDS[thing.kind],
        labels=labels(thing.metadata.labels),
        owner=controller(thing.metadata),
        reclaim=reclaim_mark(thing.metadata),
    )


NODE = Decoder(
    Kind.NODE,
    _json(shapes.WireNode, lambda tree: node_record(tree, JSON)),
    remembering_nodes(_protobuf(core_pb2.Node, node_record)),
)
POD = Decoder(
    Kind.POD,
    _json(shapes.WirePod, lambda tree: pod_record(tree, JSON)),
    remembering(_protobuf(core_pb2.Pod, pod_record)),
)
EVENT = _both(Kind.EVENT, shapes.WireEvent, core_pb2.Event, event_record)
JOB = _both(Kind.JOB, shapes.WireJob, batch_pb2.Job, job_record)
NAMESPACE = _both(Kind.NAMESPACE, shapes.AnyObject, meta_pb2.AnyObject, _plain_record)
MPIJOB = Decoder(Kind.MPIJOB, _json(MpiJob, mpijob_record))
VOLCANO_JOB = Decoder("volcanojobs", _json(VolcanoJob, volcano_job_record))
WORKLOAD = Decoder(Kind.WORKLOAD, _json(WorkloadShape, workload_record))
LOCAL_QUEUE = Decoder(Kind.LOCAL_QUEUE, _json(LocalQueueShape, local_queue_record))
CLUSTER_QUEUE = Decoder(Kind.CLUSTER_QUEUE, _json(ClusterQueueShape, cluster_queue_record))
DEVICE_SLICE = Decoder(Kind.DEVICE_SLICE, _json(SliceShape, slice_record))
DEVICE_CLAIM = Decoder(Kind.DEVICE_CLAIM, _json(ClaimShape, claim_record))
AUTOSCALER = Decoder(Kind.AUTOSCALER, _json(StatusMapShape, autoscaler_status))
OWNER = Decoder(Kind.OWNER, _json(shapes.AnyObject, owner_record))


def pool_decoder(resource: Resource) -> Decoder:
    """The decoder of one resource that owns machines."""
    return Decoder(Kind.POOL, _json(PoolShape, pool_record(resource)))


def machine_decoder(resource: Resource) -> Decoder:
    """The decoder of one resource that stands for machines."""
    return Decoder(Kind.MACHINE, _json(MachineShape, machine_record(resource)))


def pod_group_decoder(resource: Resource, engine: str) -> Decoder:
    """The decoder of one engine's group objects."""
    return Decoder(Kind.POD_GROUP, _json(PodGroupShape, pod_group_record(resource, engine)))


_OF_ENGINES = {item.kind: item for item in (VOLCANO_JOB, WORKLOAD, LOCAL_QUEUE, CLUSTER_QUEUE, AUTOSCALER)}


def engine_decoder(one: Watched) -> Decoder:
    """The decoder of a kind that an engine lives by: its own, else the one here for that kind of record."""
    return _OF_ENGINES[one.kind] if one.record is None else Decoder(one.kind, _tree(one.record))


def gathered_decoder(one: Watched, resource: Resource) -> Decoder:
    """The decoder of one of several resources that become the same kind of record: its own, else the one for
    all that are alike."""
    if one.record is not None:
        return engine_decoder(one)
    if one.roles is not None:
        return Decoder(one.kind, other_job_decode(resource, one.roles))
    if one.kind == Kind.POOL:
        return pool_decoder(resource)
    return machine_decoder(resource) if one.kind == Kind.MACHINE else pod_group_decoder(resource, one.engine)


def _tree(record: Callable[[Mapping[str, Any]], Record | None]) -> Decode:
    """For an engine's own reading of an object: from the tree, whose texts are cleaned."""
    return _json(dict[str, Any], lambda tree: record(cleaned(tree)))
