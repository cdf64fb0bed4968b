"""Resource quantities, which of them are GPUs, and what the scheduler charges a pod."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from google.protobuf.message import Message

from cockpit.k8s import quantity
from cockpit.k8s.gpu_resources import is_gpu_resource
from cockpit.sanitise import WORDS

CPU = "cpu"
MEMORY = "memory"

Named = tuple[tuple[str, int], ...]
"""Resources by name, in base units."""

Charge = tuple[int, int, int, str]
"""Millicores, bytes, whole GPUs, name of the GPU resource ("" for none)."""

FullCharge = tuple[int, int, int, str, Named]
"""A charge, and everything but cpu and memory by name: () where that is one GPU resource or nothing."""


_CHARGES: dict[bytes, FullCharge] = {}  # a pure function's answers, by its argument on the wire
_CHARGES_KEPT = 4096


@lru_cache(maxsize=16384)
def base_units(resource: str, text: str) -> int | None:
    """A quantity in its base unit: cpu in millicores, all others whole; None where it is no quantity."""
    try:
        return quantity.base_units(resource, text)
    except ValueError:
        return None


def pairs(resources: Any, amount: Callable[[Any], str]) -> tuple[tuple[str, int], ...]:
    """A resource list in base units, by name; entries that are no quantities are left out."""
    out: list[tuple[str, int]] = []
    for name in resources:
        value = base_units(name, amount(resources[name]))
        if value is not None:
            out.append((WORDS[name], value))
    out.sort()
    return tuple(out)


def _first_name(one: str, other: str) -> str:
    """Of several GPU resources (mixed MIG) the first by name: maps on the wire have no order."""
    return other if not one or other < one else one


def container_charge(container: Any, amount: Callable[[Any], str]) -> FullCharge:
    """What one container asks for: requests, and without one the limit, as the API server defaults it.

    GPUs cannot be overcommitted, so their limit overrides the request.
    """
    resources = container.resources
    if not isinstance(resources, Message):
        return _charge(resources, amount)
    # Thousands of pods ask for the same few amounts: their bytes are looked up in a fifth of the time.
    raw = resources.SerializePartialToString()
    found = _CHARGES.get(raw)
    if found is None:
        if len(_CHARGES) >= _CHARGES_KEPT:
            _CHARGES.clear()
        found = _CHARGES[raw] = _charge(resources, amount)
    return found


def _charge(resources: Any, amount: Callable[[Any], str]) -> FullCharge:
    requests = resources.requests
    limits = resources.limits
    cpu = memory = gpus = 0
    gpu_name = ""
    for name in requests:
        if name == CPU:
            cpu = base_units(CPU, amount(requests[name])) or 0
        elif name == MEMORY:
            memory = base_units(MEMORY, amount(requests[name])) or 0
        elif is_gpu_resource(name) and name not in limits:
            more = base_units(name, amount(requests[name])) or 0
            gpus += more
            gpu_name = _first_name(gpu_name, name) if more else gpu_name
    for name in limits:
        if name == CPU:
            if CPU not in requests:
                cpu = base_units(CPU, amount(limits[name])) or 0
        elif name == MEMORY:
            if MEMORY not in requests:
                memory = base_units(MEMORY, amount(limits[name])) or 0
        elif is_gpu_resource(name):
            more = base_units(name, amount(limits[name])) or 0
            gpus += more
            gpu_name = _first_name(gpu_name, name) if more else gpu_name
    named = _named(requests, limits, amount)
    if gpus and len(named) == 1:
        named = ()
    return cpu, memory, gpus, WORDS[gpu_name] if gpus else "", named


def _named(requests: Any, limits: Any, amount: Callable[[Any], str]) -> Named:
    """All but cpu and memory, by name; a limit stands for a request that is not there."""
    found = {
        WORDS[name]: base_units(name, amount(stated[name])) or 0
        for stated in (limits, requests)
        for name in stated
        if name not in (CPU, MEMORY)
    }
    return tuple(sorted((name, count) for name, count in found.items() if count))


def pod_charge(spec: Any, amount: Callable[[Any], str]) -> Charge:
    """What the scheduler charges a pod, as far as cpu, memory and GPUs go."""
    return full_charge(spec, amount)[:4]


def full_charge(spec: Any, amount: Callable[[Any], str]) -> FullCharge:
    """What the scheduler charges a pod: containers and sidecars in sum, or the largest init container when
    that is more, plus overhead; pod-level cpu and memory override.

    Source: kubernetes.io "Resource sharing within containers"; component-helpers resource/helpers.go.
    """
    containers = spec.containers
    cpu = memory = gpus = 0
    gpu_name = ""
    named: Named = ()
    if len(containers) == 1 and not spec.init_containers:
        cpu, memory, gpus, gpu_name, named = container_charge(containers[0], amount)  # the same for all
    else:
        for container in containers:
            more = container_charge(container, amount)
            cpu += more[0]
            memory += more[1]
            gpus += more[2]
            gpu_name = gpu_name or more[3]
        if spec.init_containers:
            running = (cpu, memory, gpus, gpu_name)
            cpu, memory, gpus, gpu_name = _with_init(spec.init_containers, running, amount)
        named = _all_named(spec, amount)
    whole = spec.resources
    if whole.requests or whole.limits:
        # What containers ask for goes before a limit of the pod itself, as the API server fills it in.
        level = container_charge(spec, amount)
        cpu = level[0] if CPU in whole.requests or not cpu else cpu
        memory = level[1] if MEMORY in whole.requests or not memory else memory
    if spec.overhead:
        over = dict(pairs(spec.overhead, amount))
        cpu += over.get(CPU, 0)
        memory += over.get(MEMORY, 0)
    return cpu, memory, gpus, gpu_name, named


def _all_named(spec: Any, amount: Callable[[Any], str]) -> Named:
    """Named resources of all containers together; overhead is of cpu and memory in practice."""
    running: dict[str, int] = {}
    for container in spec.containers:
        _add(running, container, amount)
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in spec.init_containers:
        now = dict(sidecars)
        _add(now, container, amount)
        for name, count in now.items():
            peak[name] = max(peak.get(name, 0), count)
        if container.restart_policy == "Always":
            sidecars = now
    for name, count in sidecars.items():
        running[name] = running.get(name, 0) + count
    for name, count in peak.items():
        running[name] = max(running.get(name, 0), count)
    if len(running) == 1 and is_gpu_resource(next(iter(running))):
        return ()
    return tuple(sorted(running.items()))


def _add(sums: dict[str, int], container: Any, amount: Callable[[Any], str]) -> None:
    for name, count in _named(container.resources.requests, container.resources.limits, amount):
        sums[name] = sums.get(name, 0) + count


def _with_init(init_containers: Any, running: Charge, amount: Callable[[Any], str]) -> Charge:
    """Init containers run one after the other beside the sidecars that were started before them."""
    gpu_name = running[3]
    side_cpu = side_memory = side_gpus = 0
    peak_cpu = peak_memory = peak_gpus = 0
    for container in init_containers:
        cpu, memory, gpus, name, _ = container_charge(container, amount)
        gpu_name = gpu_name or name
        peak_cpu = max(peak_cpu, side_cpu + cpu)
        peak_memory = max(peak_memory, side_memory + memory)
        peak_gpus = max(peak_gpus, side_gpus + gpus)
        if container.restart_policy == "Always":
            side_cpu += cpu
            side_memory += memory
            side_gpus += gpus
    return (
        max(peak_cpu, running[0] + side_cpu),
        max(peak_memory, running[1] + side_memory),
        max(peak_gpus, running[2] + side_gpus),
        gpu_name,
    )
