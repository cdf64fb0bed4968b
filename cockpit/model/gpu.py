"""GPU telemetry: one record a card, each number with its unit or the reason why it is missing."""

import enum

import msgspec

from cockpit.model.quantity import Absent, Reading


class Mark(enum.Enum):
    """How sure we are that a card belongs to the pod we name."""

    SURE = "sure"
    SHARED = "shared"
    GUESSED = "guessed"
    UNALLOCATED = "free"
    NOT_COLLECTED = "not collected"


class DoubtKind(enum.StrEnum):
    """What is wrong with something that a series tells of a card."""

    CONTRADICTED = "contradicted"  # another series of the same card and age says something else
    IMPLAUSIBLE = "implausible"  # no card can have it
    FUTURE = "from the future"  # sampled later than it is now
    NO_POD = "no such pod"  # the label names a pod that is not on the card's node


class Doubt(msgspec.Struct, frozen=True, gc=False, order=True):
    """Something that a series tells of a card and that was not taken.

    `quantity` is the field of `Gpu` that it is about; `told` what was told, in the field's unit (seconds
    ahead for FUTURE, `namespace/name` for NO_POD); `source` the exporter's family.
    """

    quantity: str
    kind: DoubtKind
    told: float | str
    source: str = ""


class Gpu(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The newest sample of one card (or MIG instance), keyed by `uuid`.

    `sampled_seconds` is the time of the sample itself, not of the query; None if unknown: the age
    is unknown then, not 0. `duty_ratio` is 0..1: the share of time in which a kernel ran, not how full the
    chip was. `also` are further pods (namespace/name) that labels name; `doubts` what was told of the card
    and not taken.
    """

    uuid: str
    node: str
    index: int
    model: str = ""
    mig_profile: str = ""
    duty_ratio: Reading = Absent.NOT_COLLECTED
    memory_used_bytes: Reading = Absent.NOT_COLLECTED
    memory_total_bytes: Reading = Absent.NOT_COLLECTED
    temperature_celsius: Reading = Absent.NOT_COLLECTED
    power_watts: Reading = Absent.NOT_COLLECTED
    sm_clock_hertz: Reading = Absent.NOT_COLLECTED
    throttle: int | None = None  # NVML's bits that are set, 0 none. None: not collected
    xid: int | None = None  # last code seen, 0 none; it does not clear. None: not collected
    pod_namespace: str = ""
    pod_name: str = ""
    container: str = ""
    mark: Mark = Mark.NOT_COLLECTED
    sampled_seconds: float | None = None
    also: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    source: str = ""  # a section of cockpit/telemetry/exporters.toml; "dcgm B" besides
