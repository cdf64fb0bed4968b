"""NVIDIA's XID codes by what they ask of a person: the rows of `xid.toml`."""

import enum
import tomllib
from functools import cache
from pathlib import Path


class XidClass(enum.Enum):
    """The action a code asks for."""

    RESET = "drain the node, then reset the GPU"
    REBOOT = "drain the node, then reboot it"
    WORKFLOW = "follow NVIDIA's longer procedure"
    APPLICATION = "restart the application"
    NOTE = "note only"
    MECHANICS = "check power and mechanics"
    ADVICE = "do what the driver's recovery advice says"
    UNKNOWN = "not in the catalogue"

    @property
    def is_bad(self) -> bool:
        """True where the card or its node must be taken out of use."""
        return self in (XidClass.RESET, XidClass.REBOOT, XidClass.WORKFLOW, XidClass.MECHANICS)


@cache
def _rows() -> dict[str, tuple[str, str]]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _row(code: int) -> tuple[str, str]:
    return _rows().get(str(code), ("UNKNOWN", ""))


def xid_class(code: int) -> XidClass:
    """What a code other than 0 asks for."""
    return XidClass[_row(code)[0]]


def xid_meaning(code: int) -> str:
    """What happened, in plain words; "" for a code that is not told here."""
    return _row(code)[1]


def xid_sentence(code: int) -> str:
    """`Xid 79: the card fell off the bus; drain the node, then reboot it`."""
    meaning = xid_meaning(code)
    return f"Xid {code}" + (f": {meaning}" if meaning else "") + f"; {xid_class(code).value}"
