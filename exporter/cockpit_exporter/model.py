"""What one round of reading found, as records that never change."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class Value(NamedTuple):
    """A number of the family with this short name (see families.py), in base units."""

    family: str
    value: float
    labels: tuple[tuple[str, str], ...] = ()


class Failure(NamedTuple):
    """A group of values that could not be read: the driver's function and its error as a word."""

    function: str
    error: str


class Process(NamedTuple):
    """A process on a card. `instance` is the GPU instance on MIG cards; withheld numbers are None."""

    pid: int
    kind: str  # compute, graphics, mps
    memory_bytes: float | None
    instance: int | None = None
    duty_ratio: float | None = None
    name: str = ""
    pod_uid: str = ""


@dataclass(frozen=True, slots=True)
class Device:
    """Who a card is. The UUID is the key; the index is a label and may change."""

    uuid: str
    index: int
    minor: int | None = None
    model: str = ""
    serial: str = ""
    pci_bus_id: str = ""


@dataclass(frozen=True, slots=True)
class Instance:
    """A MIG instance. `uuid` is its own; `gpu_instance` is what DCGM calls GPU_I_ID."""

    uuid: str
    gpu_instance: int
    compute_instance: int
    profile: str
    values: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Card:
    """One card in one round. `down` is empty where it was read, else a word: hung, gpu-is-lost, missing."""

    device: Device
    sampled_seconds: float  # of the monotonic clock
    down: str = ""
    is_lost: bool = False
    mig_mode: str = ""  # enabled, disabled, "" where the card knows no MIG
    values: tuple[Value, ...] = ()
    instances: tuple[Instance, ...] = ()
    processes: tuple[Process, ...] = ()
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True, slots=True)
class Versions:
    """Versions as the driver tells them."""

    driver: str = ""
    nvml: str = ""
    cuda: str = ""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that is known after one round. `reason` is empty where the driver library answers."""

    taken_seconds: float
    reason: str = "not-started"
    detail: str = ""
    versions: Versions = field(default_factory=Versions)
    cards: tuple[Card, ...] = ()
    rounds: int = 0
    round_seconds: float = 0.0
    hung_calls: int = 0
    failure_counts: Mapping[tuple[str, str], int] = field(default_factory=dict)


class Xid(NamedTuple):
    """XIDs of one card since the exporter started."""

    last: int
    last_seconds: float  # of the monotonic clock
    counts: Mapping[int, int]
