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
    ADVICE = "read the recovery advice of the driver"
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
