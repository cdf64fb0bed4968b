"""Nodes that are alike: machines of a pool differ in names, times, addresses and a few of their many labels.

The same trick as for pods (`decode.alike`): `_gist` (C, optional) spells out as one key what machines of a
pool have in common, and hands over beside it what each has of its own (name, provider, address, labels) and
what groups of them share (conditions, amounts, annotations): their bytes are looked up. A node that is out of
the ordinary goes through the parser, and where `_gist` was not compiled all of them do: the records are the
same (`tests/unit/kube/test_node_memo.py`).
"""

from collections.abc import Callable
from typing import Any

import msgspec
from google.protobuf.message import DecodeError

from cockpit.k8s.gpu_resources import site_vendors
from cockpit.k8s.labels import POOL_LABELS
from cockpit.kube.decode.common import LABEL_CHARACTERS, annotations, conditions
from cockpit.kube.decode.nodes import (
    CAPI_MACHINE,
    CAPI_OWNER_KIND,
    CAPI_OWNER_NAME,
    KEPT_ANNOTATIONS,
    MEMORY_LABEL,
    REPLICAS_LABEL,
    TYPE_LABELS,
    ZONE_LABELS,
    amounts,
    count_labels,
    is_kept,
    model_labels,
)
from cockpit.kube.decode.pod_memo import KEPT, Memo, moment, names_of
from cockpit.kube.decode.reading import PROTOBUF
from cockpit.kube.proto import core_pb2, meta_pb2
from cockpit.model.node import Node
from cockpit.model.record import Condition, Labels
from cockpit.sanitise import WORDS, clean

try:
    from cockpit.kube.decode._gist import node as gist
except ImportError:  # no compiler where the cockpit was installed
    gist = None  # type: ignore[assignment]

Parse = Callable[[bytes], Node]
"""Raw bytes of one node to its record. Raises UndecodableError."""


def telling_labels() -> tuple[str, ...]:
    """Labels that tell something else than themselves: nodes are alike only where these are equal."""
    found = (*POOL_LABELS, *model_labels(), *count_labels(), *TYPE_LABELS, *ZONE_LABELS)
    return tuple(label for label in (*found, MEMORY_LABEL, REPLICAS_LABEL) if label)


def _names() -> tuple[bytes, bytes, bytes, bytes]:
    """What `_gist` looks for."""
    return (
        names_of(set(telling_labels())),
        names_of([CAPI_MACHINE]),  # that it is there
        names_of([CAPI_OWNER_KIND, CAPI_OWNER_NAME]),  # and what they say
        names_of(KEPT_ANNOTATIONS),
    )


_LABELS_KEPT = 32_768


def _label(entry: bytes) -> tuple[str, str]:
    """One label as it stands in a map on the wire: 0A length name, 12 length value, as `_gist` has made sure.

    Raises UnicodeDecodeError."""
    name_ends = 2 + entry[1]
    if entry[1] < 0x80 and entry[name_ends + 1] < 0x80:  # lengths of one byte each
        name, value = entry[2:name_ends].decode(), entry[name_ends + 2 :].decode()
    else:
        label = meta_pb2.ObjectMeta.LabelsEntry.FromString(entry)
        name, value = label.key, label.value
    return WORDS[name], clean(value, LABEL_CHARACTERS)


def _conditions(part: bytes) -> tuple[Condition, ...]:
    return conditions(core_pb2.NodeStatus.FromString(part).conditions, PROTOBUF)


def _amounts(part: bytes) -> dict[str, Any]:
    return amounts(core_pb2.NodeStatus.FromString(part), PROTOBUF)


def _annotations(part: bytes) -> Labels:
    return annotations(meta_pb2.ObjectMeta.FromString(part).annotations, is_kept)


def remembering_nodes(parse: Parse) -> Parse:
    """`parse` for nodes, called only for those that are like none of the last few thousand."""
    if gist is None:
        return parse
    like: dict[bytes, Node] = {}
    moments, stated, shown, noted = Memo(moment), Memo(_conditions), Memo(_amounts), Memo(_annotations)
    labelled = Memo(_label, _LABELS_KEPT)
    copied, look = msgspec.structs.replace, gist
    wanted, declared = _names(), site_vendors()

    def decode(raw: bytes) -> Node:
        nonlocal wanted, declared
        if site_vendors() != declared:  # the configuration is read after this module
            wanted, declared = _names(), site_vendors()
            like.clear()
            shown.clear()
        try:
            found = look(raw, wanted, labelled)
            if found is None:
                return parse(raw)
            key, name, uid, version, provider, address, created, conditions_, amounts_, notes, own = found
            first = like.get(key)
            if first is not None:
                return copied(
                    first,
                    uid=uid,
                    name=name,
                    resource_version=version,
                    created_seconds=moments[created],
                    labels=own,
                    annotations=noted[notes],
                    conditions=stated[conditions_],
                    provider_id=provider,
                    internal_ip=address,
                    **shown[amounts_],
                )
        except (DecodeError, ValueError, TypeError, AttributeError):
            return parse(raw)  # the parser says what is wrong
        made = parse(raw)
        if len(like) >= KEPT:
            like.clear()
        like[key] = made
        return made

    return decode
