"""The two ways to read one tree: protobuf messages and JSON structs with the same attribute names.

A record is made by one function for both wires, so the two cannot drift apart. What differs is passed in
as a `Reading`: how a time, a quantity and the presence of a field are read.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from cockpit.kube.decode import times


class Reading(msgspec.Struct, frozen=True):
    """`seconds(time)`, `amount(quantity)` and `has(tree, field)` of one wire."""

    seconds: Callable[[Any], float | None]
    amount: Callable[[Any], str]
    has: Callable[[Any, str], bool]


def _message_amount(quantity: Any) -> str:
    text: str = quantity.string
    return text


def _message_has(message: Any, field: str) -> bool:
    present: bool = message.HasField(field)
    return present


def _struct_has(struct: Any, field: str) -> bool:
    return getattr(struct, field) is not None


PROTOBUF = Reading(seconds=times.from_message, amount=_message_amount, has=_message_has)
JSON = Reading(seconds=times.from_text, amount=str, has=_struct_has)
