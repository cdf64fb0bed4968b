"""Objects with every field of their message, small changes of them, and bytes that went bad on the way."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from google.protobuf.message import Message
from hypothesis import strategies as st

from cockpit.kube.decode import pod_memo
from cockpit.kube.decode.wire import UndecodableError

ODD = (UndecodableError, TypeError, ValueError, AttributeError, KeyError, IndexError, OverflowError)
"""What costs one object only, as `Reflector.decoded` has it."""

LABELS = {
    "training.kubeflow.org/job-name": "llm",
    "training.kubeflow.org/replica-index": "3",
    "kueue.x-k8s.io/queue-name": "queue-a",
    "app": "training",
}
NOTES = {"batch.kubernetes.io/job-completion-index": "4", "pod-group-name": "gang", "note": "text"}

needs_gist = pytest.mark.skipif(
    not pod_memo.IS_FAST, reason="_gist was not compiled here: no C compiler, or none of Python's headers"
)


class Counting:
    """The parser, and how often it was asked."""

    def __init__(self, parser: Callable[[bytes], Any]) -> None:
        self.asked = 0
        self._parser = parser

    def __call__(self, raw: bytes) -> Any:
        self.asked += 1
        return self._parser(raw)


def _value(name: str) -> str:
    fixed = {"status": "False", "type": "PodScheduled", "string": "2", "phase": "Pending", "uid": "uid-0"}
    return fixed.get(name, f"{name.replace('_', '-')}-0")


def filled(message: Any, depth: int = 0) -> None:
    """Give every field of a message a value: one element where it repeats."""
    for field in message.DESCRIPTOR.fields:
        target = getattr(message, field.name)
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            if field.name in ("labels", "annotations"):
                target.update(LABELS if field.name == "labels" else NOTES)
            elif field.message_type.fields_by_name["value"].message_type is not None:
                for name in ("cpu", "nvidia.com/gpu", "rdma/ib"):
                    target[name].string = "2"
            else:
                target["key"] = "value"
        elif field.is_repeated:
            if field.message_type is not None:
                filled(target.add(), depth + 1)
            else:
                target.append(_value(field.name))
        elif field.message_type is not None:
            target.SetInParent()
            filled(target, depth + 1)
        elif field.type == field.TYPE_STRING:
            setattr(message, field.name, _value(field.name))
        else:
            setattr(message, field.name, 1)


def changes(message: Any, path: str = "") -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every small change of a message in place, with its name; each is to be made on a fresh copy."""
    for field in message.DESCRIPTOR.fields:
        name = field.name
        here = f"{path}.{name}".lstrip(".")
        yield f"{here} gone", partial(message.ClearField, name)
        target = getattr(message, name)
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            for key in list(target):
                yield f"{here}[{key}] gone", partial(target.pop, key)
                if isinstance(target[key], Message):
                    yield f"{here}[{key}]", partial(setattr, target[key], "string", "5")
                else:
                    yield f"{here}[{key}]", partial(target.update, {key: "7"})
        elif field.is_repeated:
            if not target:
                continue  # taken out by whoever made the message
            yield f"{here} twice", partial(target.append, target[0])
            if field.message_type is not None:
                yield from changes(target[0], f"{here}[0]")
        elif field.message_type is not None:
            yield from changes(target, here)
        elif field.type == field.TYPE_STRING:
            for value in ("other", "", "Ready", "Always", "x\x1b[31m", "ä"):
                yield f"{here}={value!r}", partial(setattr, message, name, value)
        else:
            for number in (0, 2, 120):
                yield f"{here}={number}", partial(setattr, message, name, number)


def outcome(parse: Callable[[bytes], Any], raw: bytes) -> Any:
    try:
        return parse(raw)
    except ODD:
        return "undecodable"


def edits(length: int) -> st.SearchStrategy[list[tuple[str, int, int]]]:
    """Some damage to so many bytes, for `edited`."""
    return st.lists(
        st.tuples(
            st.sampled_from(["put", "drop", "insert", "cut", "repeat"]),
            st.integers(0, length - 1),
            st.integers(0, 255) | st.sampled_from([0x0A, 0x12, 0x80, 0xFF, 0x0B, 0x0C, 0x08]),
        ),
        min_size=1,
        max_size=4,
    )


def edited(raw: bytes, edits: list[tuple[str, int, int]]) -> bytes:
    data = bytearray(raw)
    for how, at, value in edits:
        at = min(at, max(len(data) - 1, 0))  # noqa: PLW2901 - earlier edits made it shorter
        if how == "put" and data:
            data[at] = value
        elif how == "drop":
            del data[at : at + 1 + value % 4]
        elif how == "insert":
            data[at:at] = bytes([value])
        elif how == "cut":
            del data[at:]
        else:
            data += data[at : at + value]
    return bytes(data)
