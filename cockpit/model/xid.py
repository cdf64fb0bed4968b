"""NVIDIA's XID codes by what they ask of a person.

Source: the catalogue at docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html, as embedded by gpud
(components/accelerator/nvidia/xid/catalog_generated.go).
"""

import enum


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


_CODES: dict[XidClass, tuple[int, ...]] = {
    XidClass.RESET: (46, 62, 64, 95, 109, 110, 119, 120, 136, 140, 143, 155, 156, 158),
    XidClass.REBOOT: (79, 151),
    XidClass.WORKFLOW: (45, 48, 74, *range(144, 151)),
    XidClass.APPLICATION: (8, 13, 31, 32, 39, 40, 41, 60, 68, 69, 80, 94),
    XidClass.NOTE: (37, 38, 43, 44, 63, 66, 67, 92, 93, 121, 137, 141),
    XidClass.MECHANICS: (54,),
    XidClass.ADVICE: (154,),
}
_CLASS_OF = {code: one for one, codes in _CODES.items() for code in codes}


def xid_class(code: int) -> XidClass:
    """What a code other than 0 asks for."""
    return _CLASS_OF.get(code, XidClass.UNKNOWN)


_MEANINGS: dict[int, str] = {
    8: "the card stopped working on a job",
    13: "a kernel made an illegal access",
    31: "a job touched memory that is not its own",
    32: "broken commands reached the card",
    38: "the driver's firmware failed",
    43: "a job ended with an error on the card",
    44: "a fault while switching between jobs",
    45: "a job was cleaned up early, after another error",
    46: "the card stopped answering",
    48: "a double-bit memory error",
    54: "no auxiliary power",
    60: "the video processor failed",
    61: "the card's controller warned",
    62: "the card's controller halted",
    63: "a memory row was remapped, or a page retired",
    64: "remapping a memory row failed",
    68: "the video decoder failed",
    69: "the graphics engine met an unknown class",
    74: "an NVLink failed",
    79: "the card fell off the bus",
    80: "corrupt data was sent to the card",
    92: "many single-bit memory errors",
    94: "a memory error that was contained to one job",
    95: "a memory error that was not contained",
    109: "switching between jobs timed out",
    110: "a security fault of the card",
    119: "the card's system processor did not answer",
    120: "the card's system processor failed",
    121: "the link between chips had an error",
    136: "the link training of NVLink failed",
    137: "a job touched NVLink memory that is not its own",
    140: "a memory error that was not recovered",
    143: "the card could not be initialised",
    144: "an NVLink had an error",
    151: "keys could not be renewed",
    154: "the driver changed its recovery advice",
    155: "an NVLink error that its software found",
    156: "memory was taken out of use",
    158: "the card timed out for good",
}


def xid_meaning(code: int) -> str:
    """What happened, in plain words; "" for a code that is not told here."""
    return _MEANINGS.get(code, "an NVLink had an error" if 145 <= code <= 150 else "")


def xid_sentence(code: int) -> str:
    """`Xid 79: the card fell off the bus; drain the node, then reboot it`."""
    meaning = xid_meaning(code)
    return f"Xid {code}" + (f": {meaning}" if meaning else "") + f"; {xid_class(code).value}"
