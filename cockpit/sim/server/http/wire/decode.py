"""A body in Kubernetes' protobuf as the JSON tree that it stands for.

The envelope is `k8s` and a zero byte before a `runtime.Unknown`. The wire has also fields that Go leaves out
of JSON where they are empty; the decoding by the kind's shape drops them. `fields.json` holds names, numbers
and types of fields, as recorded from the `generated.proto` files of k8s.io/api and k8s.io/apimachinery.
"""

import base64
import functools
import struct
from collections.abc import Iterator
from importlib import resources
from typing import Any

import msgspec

from cockpit.sim.port import Tree
from cockpit.sim.times import rfc3339, rfc3339_micro

MAGIC = b"k8s\x00"
MEDIA = "application/vnd.kubernetes.protobuf"

Field = tuple[str, str, str]
"""Name, `optional`, `repeated` or `map`, and its type (of a map: of its values)."""

_PACKAGES = {
    "": "core",
    "rbac.authorization.k8s.io": "rbac",
    "authorization.k8s.io": "authorization",
    "authentication.k8s.io": "authentication",
    "coordination.k8s.io": "coordination",
    "scheduling.k8s.io": "scheduling",
    "storage.k8s.io": "storage",
    "resource.k8s.io": "resource",
    "discovery.k8s.io": "discovery",
    "events.k8s.io": "events",
}
_INLINE = frozenset(
    {
        ("core.Volume", "volumeSource"),
        ("core.PersistentVolumeSpec", "persistentVolumeSource"),
        ("core.Probe", "handler"),
        ("core.EphemeralContainer", "ephemeralContainerCommon"),
        *(
            (f"resource.{name}", "deviceConfiguration")
            for name in (
                "DeviceClaimConfiguration",
                "DeviceAllocationConfiguration",
                "DeviceClassConfiguration",
            )
        ),
        *(
            (f"core.{name}", "localObjectReference")
            for name in (
                *("ConfigMapKeySelector", "SecretKeySelector", "ConfigMapEnvSource", "SecretEnvSource"),
                *("ConfigMapVolumeSource", "ConfigMapProjection", "SecretProjection"),
            )
        ),
    }
)
"""Structs that are embedded in Go: messages on the wire, their fields one level higher in JSON."""


class BadProtobuf(ValueError):
    """Bytes that are no such message."""


def decoded(body: bytes) -> Tree:
    """The object in a body. Raises BadProtobuf."""
    if not body.startswith(MAGIC):
        raise BadProtobuf(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
        )
    envelope = dict(_parts(body[len(MAGIC) :]))
    head = {number: _text(value) for number, value in _parts(envelope.get(1, b""))}
    version, kind = head.get(1, ""), head.get(2, "")
    group = version.rpartition("/")[0]
    name = f"meta.{kind}" if kind == "DeleteOptions" else f"{_PACKAGES.get(group, group)}.{kind}"
    if name not in _messages():
        raise BadProtobuf(f'no kind "{kind}" is registered for version "{version}"')
    return {"apiVersion": version, "kind": kind, **_message(name, _bytes(envelope.get(2, b"")))}


@functools.cache
def _messages() -> dict[str, dict[int, Field]]:
    text = resources.files("cockpit.sim.server.http.wire").joinpath("fields.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, dict[int, Field]])


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data):
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7
    raise BadProtobuf("unexpected EOF")


def _parts(data: Any) -> Iterator[tuple[int, Any]]:
    """Field numbers with numbers (varint), eight or four bytes, or bytes of a length."""
    data, at = _bytes(data), 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            value, at = _varint(data, at)
            yield number, value
            continue
        if kind == 2:
            size, at = _varint(data, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise BadProtobuf(f"illegal wireType {kind}")
        if at + size > len(data):
            raise BadProtobuf("unexpected EOF")
        yield number, data[at : at + size]
        at += size


def _bytes(value: Any) -> bytes:
    if not isinstance(value, bytes):
        raise BadProtobuf("wrong wireType")
    return value


def _text(value: Any) -> str:
    try:
        return _bytes(value).decode()
    except UnicodeDecodeError as error:
        raise BadProtobuf(f"invalid UTF-8: {error.reason}") from None


def _message(name: str, data: bytes) -> Tree:
    tree: Tree = {}
    for number, value in _parts(data):
        field = _messages()[name].get(number)
        if field is None:
            continue
        key, how, kind = field
        if how == "map":
            entry = dict(_parts(value))
            tree.setdefault(key, {})[_text(entry.get(1, b""))] = _value(kind, entry.get(2, b""))
        elif how == "repeated":
            tree.setdefault(key, []).append(_value(kind, value))
        elif (name, key) in _INLINE:
            tree.update(_message(kind, _bytes(value)))
        else:
            tree[key] = _value(kind, value)
    empty = ("", 0) if name == "meta.ObjectMeta" else ()
    return {key: value for key, value in tree.items() if value is not None and value not in empty}


def _value(kind: str, value: Any) -> Any:
    if kind in _SPECIAL:
        return _SPECIAL[kind](_bytes(value))
    match kind:
        case "string":
            return _text(value)
        case "bytes":
            return base64.b64encode(_bytes(value)).decode()
        case "bool":
            return bool(value)
        case "double":
            return struct.unpack("<d", _bytes(value))[0]
        case "int32" | "int64":
            return value - (1 << 64) if isinstance(value, int) and value >= 1 << 63 else value
        case "uint32" | "uint64":
            return value
        case _:
            return _message(kind, _bytes(value))


def _time(data: bytes) -> str | None:
    parts = dict(_parts(data))
    return rfc3339(_signed(parts.get(1, 0))) if parts else None


def _micro_time(data: bytes) -> str | None:
    parts = dict(_parts(data))
    return rfc3339_micro(_signed(parts.get(1, 0)) + parts.get(2, 0) / 1e9) if parts else None


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _quantity(data: bytes) -> str:
    return _text(dict(_parts(data)).get(1, b""))


def _int_or_text(data: bytes) -> int | str:
    parts = dict(_parts(data))
    return _text(parts.get(3, b"")) if parts.get(1) else _signed(parts.get(2, 0))


def _raw(data: bytes) -> Any:
    raw = dict(_parts(data)).get(1, b"")
    try:
        return msgspec.json.decode(raw) if raw else None
    except msgspec.DecodeError as error:
        raise BadProtobuf(str(error)) from None


def _extra(data: bytes) -> list[str]:
    return [_text(value) for _, value in _parts(data)]


_SPECIAL = {
    "authorization.ExtraValue": _extra,
    "authentication.ExtraValue": _extra,
    "meta.Time": _time,
    "meta.MicroTime": _micro_time,
    "resource.Quantity": _quantity,
    "intstr.IntOrString": _int_or_text,
    "runtime.RawExtension": _raw,
    "meta.FieldsV1": _raw,
}
