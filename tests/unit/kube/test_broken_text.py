"""A string that is not UTF-8, as a kubelet makes one that cuts a message: text, and the row stays."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from cockpit.kube.decode.decoders import EVENT, JOB, NODE, POD
from cockpit.kube.decode.wire import PROTOBUF_WIRE
from cockpit.kube.proto import batch_pb2, core_pb2, meta_pb2
from cockpit.sanitise import clean, clean_block

DEEPEST = 8
MADE = {"Pod": (core_pb2.Pod, POD), "Node": (core_pb2.Node, NODE), "Event": (core_pb2.Event, EVENT)}
MADE["Job"] = (batch_pb2.Job, JOB)


def filled(message: Any, depth: int = 0) -> Any:
    """`message` with a text in every string: the name of its type and its own."""
    for field in message.DESCRIPTOR.fields:
        name, text = field.name, f"<{message.DESCRIPTOR.name}.{field.name}>"
        if field.type == field.TYPE_STRING:
            message.MergeFrom(type(message)(**{name: [text] if field.is_repeated else text}))
        elif field.type == field.TYPE_MESSAGE and depth < DEEPEST:
            inside = getattr(message, name)
            if field.message_type.GetOptions().map_entry:
                value = field.message_type.fields_by_name["value"]
                if value.type == value.TYPE_MESSAGE:
                    filled(inside["key"], depth + 1)
                else:
                    inside["key"] = text
            elif field.is_repeated:
                filled(inside.add(), depth + 1)
            else:
                inside.SetInParent()
                filled(inside, depth + 1)
    return message


def broken(kind: str) -> Iterator[tuple[str, bytes]]:
    """The object with one of its texts broken, for each of them."""
    raw: bytes = filled(MADE[kind][0]()).SerializePartialToString()
    seen: dict[str, int] = {}
    for found in re.finditer(rb"<([A-Za-z]+\.[a-z_A-Z]+)>", raw):
        seen.setdefault(found[1].decode(), found.start())
    for name, at in seen.items():
        yield name, raw[:at] + b"\xc3" + raw[at + 1 :]


@pytest.mark.parametrize("kind", MADE)
def test_every_broken_text_is_read(kind: str) -> None:
    _, decoder = MADE[kind]
    assert decoder.from_protobuf is not None
    texts = dict(broken(kind))
    texts.pop("Quantity.string", None)  # the API server takes numbers only
    assert len(texts) > 8
    for name, raw in texts.items():
        record = decoder.from_protobuf(raw)
        assert record is not None, name
        assert not re.search(r"\\xc3|\bb'", repr(record)), name


def test_a_message_that_was_cut_in_a_letter_is_shown() -> None:
    pod = core_pb2.Pod()
    pod.metadata.uid = "u"
    pod.status.message = "Speicher zu Ende: f\u00fc"
    raw = pod.SerializePartialToString().replace(b"\xc3\xbc", b"\xc3x")
    assert POD.from_protobuf is not None
    assert "Speicher zu Ende: f\ufffdx" in repr(POD.from_protobuf(raw))


def test_a_refusal_is_read() -> None:
    status = meta_pb2.Status(message="abc", reason="def", code=400)
    status.details.causes.add(field="ghi", message="jkl", reason="mno")
    status.details.name, status.details.kind, status.details.group = "pqr", "stu", "vwx"
    raw = status.SerializePartialToString()
    for text in (b"abc", b"def", b"ghi", b"jkl", b"mno", b"pqr", b"stu", b"vwx"):
        found = PROTOBUF_WIRE.status(raw.replace(text, b"\xff" + text[1:]))
        (cause,) = found.causes
        shown = (found.message, found.reason, *msgspec.structs.astuple(cause), found.name, found.kind)
        shown += (found.group,)
        assert "\ufffd" in "".join(shown)
        assert "b'" not in "".join(shown)


def test_bytes_become_clean_text() -> None:
    assert clean(b"a\xff\x1b[31m") == "a\ufffd[31m"
    assert clean(b"\xc3" * 9, 4) == "\ufffd\ufffd\ufffd\u2026"
    assert clean_block(b"a\xff\n\tb") == "a\ufffd\n    b"
