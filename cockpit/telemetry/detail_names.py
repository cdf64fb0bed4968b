"""Raw names of what only the page of a node shows, and how its samples become `GpuDetail`. Pure.

Sources: NVIDIA/dcgm-exporter etc/default-counters.csv (also what is commented out there) and the release note
of 4.9.0 for the new spellings; NVIDIA/DCGM dcgmlib/dcgm_fields.h (limits); our exporter's families.
"""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from cockpit.model.gpu_detail import GpuDetail, ProcessUse
from cockpit.model.quantity import Absent, Reading
from cockpit.model.throttle import BIT_OF
from cockpit.telemetry.labels import NodeNames, instance_of, node_of, uuid_of
from cockpit.telemetry.sample import Sample, is_reading

_DEV, _OWN = "DCGM_FI_DEV_", "cockpit_gpu_"
_MOST_DIGITS = 10  # of a process id
MOST_PROCESSES = 32
"""Processes of one card that are kept: the page shows them in one line each."""


class _Field(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a raw name goes. `only` lists label values that must all match; several series add up."""

    name: str
    factor: float = 1.0
    only: tuple[tuple[str, str], ...] = ()


FIELDS = msgspec.convert(
    tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")),
    dict[str, tuple[_Field, ...]],
)
"""Raw name -> field of `GpuDetail` and factor to its base unit."""

_ADD_UP = frozenset({"remapped_rows", "nvlink_errors"})
_THROTTLE = f"{_OWN}throttle"
_BITS = frozenset({f"{_DEV}CLOCK_THROTTLE_REASONS", f"{_DEV}CLOCKS_EVENT_REASONS"})
_EVENTS = "DCGM_EXP_CLOCK_EVENTS_COUNT"
_RECOVERY = f"{_OWN}recovery_action"
_LINK = f"{_OWN}nvlink_up"
_PROCESS_MEMORY, _PROCESS_DUTY = f"{_OWN}process_memory_bytes", f"{_OWN}process_duty_ratio"
_PROCESSES = f"{_OWN}processes"

NAMES: tuple[str, ...] = (
    *FIELDS,
    *(_THROTTLE, *sorted(_BITS), _EVENTS, _RECOVERY, _LINK, _PROCESS_MEMORY, _PROCESS_DUTY, _PROCESSES),
)
"""Everything that is asked for when the page of a node is open."""


class _Heard:
    """What was heard of one card so far; `seen` keeps a series that comes twice from counting twice."""

    __slots__ = ("at", "links", "links_up", "processes", "recovery", "seen", "throttle", "values")

    def __init__(self) -> None:
        self.values: dict[str, float] = {}
        self.seen: dict[str, dict[tuple[str, ...], float]] = {}
        self.throttle: int | None = None
        self.recovery: str | None = None
        self.links: dict[str, bool] = {}
        self.processes: dict[int, ProcessUse] | None = None
        self.at: float | None = None


def details(samples: Iterable[Sample], places: NodeNames | None = None) -> list[GpuDetail]:
    """One record a card, keyed as `cards.round.gpus` keys the same card, by node and uuid."""
    places = places or NodeNames()
    found: dict[tuple[str, str], _Heard] = {}
    for sample in samples:
        if sample.name not in _READ:
            continue
        uuid = uuid_of(sample.labels)
        if not uuid or not is_reading(sample.value):
            continue
        instance = instance_of(sample.labels)
        key = (node_of(sample.labels, places), f"{uuid}/{instance}" if instance else uuid)
        heard = found.setdefault(key, _Heard())
        _note(heard, sample)
        if sample.sampled_seconds is not None:
            heard.at = max(heard.at or 0.0, sample.sampled_seconds)
    return [_record(node, uuid, heard) for (node, uuid), heard in sorted(found.items())]


_READ = frozenset(NAMES)


def _note(heard: _Heard, one: Sample) -> None:
    labels = one.labels
    fields = FIELDS.get(one.name)
    if fields is not None:
        for field in fields:
            if all(_plain(labels, label) == value for label, value in field.only):
                _put(heard, field, one)
    elif one.name == _THROTTLE:
        heard.throttle = (heard.throttle or 0) | (BIT_OF.get(labels.get("reason", ""), 0) if one.value else 0)
    elif one.name == _EVENTS:
        event = BIT_OF.get(labels.get("clock_event", ""), 0)
        heard.throttle = (heard.throttle or 0) | (event if one.value else 0)
    elif one.name in _BITS:
        heard.throttle = (heard.throttle or 0) | int(one.value)
    elif one.name == _RECOVERY:
        if one.value:
            heard.recovery = labels.get("action", "")
    elif one.name == _LINK:
        heard.links[labels.get("link", "")] = bool(one.value)
    else:
        _note_process(heard, one)


def _plain(labels: Mapping[str, str], label: str) -> str:
    """Prometheus renames a label that its scrape configuration has already."""
    return labels.get(f"exported_{label}") or labels.get(label, "")


def _put(heard: _Heard, field: _Field, one: Sample) -> None:
    value = one.value / round(1.0 / field.factor) if field.factor < 1.0 else one.value * field.factor
    if field.name not in _ADD_UP:
        had = heard.values.get(field.name)
        heard.values[field.name] = value if had is None else max(had, value)
        return
    series = (one.name, *(_plain(one.labels, label) for label in ("kind", "link", "nvlink")))
    seen = heard.seen.setdefault(field.name, {})
    seen[series] = max(seen.get(series, 0.0), value)
    heard.values[field.name] = sum(seen.values())


def _note_process(heard: _Heard, one: Sample) -> None:
    known = heard.processes = heard.processes if heard.processes is not None else {}
    pid = one.labels.get("pid", "")
    if one.name == _PROCESSES or not (pid.isascii() and pid.isdigit() and len(pid) <= _MOST_DIGITS):
        return
    number = int(pid)
    if number not in known and len(known) >= MOST_PROCESSES:
        return
    old = known.get(number) or ProcessUse(number, one.labels.get("name", ""), one.labels.get("pod_uid", ""))
    is_memory = one.name == _PROCESS_MEMORY
    known[number] = ProcessUse(
        old.pid,
        old.name,
        old.pod_uid or one.labels.get("pod_uid", ""),
        one.value if is_memory else old.memory_bytes,
        old.duty_ratio if is_memory else one.value,
    )


_LIMITS: dict[str, tuple[float, float]] = {
    "tensor_ratio": (0.0, 1.05),
    "dram_ratio": (0.0, 1.05),
    "sm_ratio": (0.0, 1.05),
    "memory_temperature_celsius": (0.1, 150.0),
    "slowdown_celsius": (1.0, 250.0),
    "shutdown_celsius": (1.0, 250.0),
    "power_cap_watts": (1.0, 10_000.0),
}


def _record(node: str, uuid: str, heard: _Heard) -> GpuDetail:
    values: dict[str, Reading] = {}
    for name, value in heard.values.items():
        least, most = _LIMITS.get(name, (0.0, 1e18))
        # below what a limit can be drivers say 0 where they know none
        unknown = Absent.NOT_COLLECTED if value == 0.0 else Absent.IMPLAUSIBLE
        values[name] = value if least <= value <= most else unknown
    if heard.links:
        values["nvlinks"] = float(len(heard.links))
        values["nvlinks_up"] = float(sum(heard.links.values()))
    processes = heard.processes
    return GpuDetail(
        uuid=uuid,
        node=node,
        throttle=heard.throttle,
        recovery=heard.recovery,
        processes=None if processes is None else tuple(processes[pid] for pid in sorted(processes)),
        sampled_seconds=heard.at,
        **values,
    )
