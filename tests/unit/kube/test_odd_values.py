"""Quantities, times and device names as no cluster should write them: read or passed over."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from cockpit.k8s.durations import go_seconds
from cockpit.k8s.gpu_resources import (
    claimed_resource,
    device_part,
    is_gpu_class,
    is_gpu_resource,
    resource_word,
)
from cockpit.kube.decode import amounts, decoders, times
from cockpit.views import format as fmt
from tests.reliability.figures import Tell, whole
from tests.unit.kube.builders import meta

QUANTITIES: tuple[str, ...] = (
    "1",
    "0",
    "-1",
    "500m",
    "64Gi",
    "1e3",
    "1E",
    "9223372036854775808",
    "1e30",
    "1" + "0" * 30,
    "0.1n",
)
QUANTITIES += (
    "1e300",
    "1e-300",
    "1e999999999",
    "inf",
    "nan",
    "0x10",
    "1_0",
    "１",
    "",
    ".",
    "+",
    "Ki",
    "1 Gi",
)
TIMES: tuple[str, ...] = (
    "2026-11-01T10:00:00Z",
    "2026-11-01T10:00:00.123456789Z",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
)
TIMES += (
    "2026-02-30T00:00:00Z",
    "2026-11-01T24:00:00+99:99",
    "-2026-11-01",
    "1",
    "1h30m",
    "5m0.5s",
    "9" * 40 + "h",
)
NAMES: tuple[str, ...] = (
    "nvidia.com/mig-1g.10gb",
    "nvidia.com/mig-1c.3g.40gb",
    "nvidia.com/mig-1g.10gb.me",
    "nvidia.com/mig-",
)
NAMES += (
    "nvidia.com/gpu",
    "gpu.intel.com/xe",
    "mig",
    "/",
    "nvidia.com/mig-\x1b[31m",
    "nvidia.com/mig-∞g",
    "a" * 400,
)
LETTERS = "0123456789.-+eEKMGTPimnu:TZ/ \x00\x1b\u202e\ud800٣∞"
SEEDS = (*QUANTITIES, *TIMES, *NAMES)


def odd_text(rng: random.Random) -> str:
    """A word that is nearly one, or none at all."""
    text = rng.choice(SEEDS) if rng.random() < 0.9 else ""
    for _ in range(rng.randrange(3)):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice(LETTERS) * rng.choice((1, 1, 1, 30)) + text[at + rng.randrange(2) :]
    return text


def odd_number(rng: random.Random) -> float:
    """Of any size, whole or not."""
    number = rng.choice((0, 1, -1, 0.5, 1e-12, 2**31, 2**63, 10**30, -(10**30), 1e300))
    return number * rng.choice((1, 1, 1.5, rng.random()))


def read_text(text: str) -> None:
    """Everything that reads such a word from a cluster."""
    for resource in ("cpu", "memory", "nvidia.com/gpu"):
        number = amounts.base_units(resource, text)
        if number is not None:
            fmt.quantity(resource, number)
    moment = times.from_text(text)
    if moment is not None:
        fmt.since(moment, 1_793_527_200.0)
    go_seconds(text)
    is_gpu_resource(text)
    resource_word(text, 1)
    device_part(text, text)
    is_gpu_class(text)
    claimed_resource(text)


def read_number(number: float) -> None:
    """Everything that shows such a number."""
    for show in (fmt.age, fmt.byte_size, fmt.watts, fmt.celsius, fmt.percent, fmt.hertz, fmt.span):
        show(number)
    fmt.count(int(number))
    fmt.cores(int(number))


def read_objects(text: str) -> None:
    """A pod and a node with the word wherever a quantity, a time or a resource stands."""
    amount = {"cpu": text, "memory": text, "nvidia.com/gpu": text, text: text}
    metadata = meta("x") | {"creationTimestamp": text, "labels": {"nvidia.com/gpu.memory": text}}
    resources = {"requests": amount, "limits": amount}
    spec: dict[str, Any] = {"containers": [{"name": "c", "resources": resources}], "overhead": amount}
    pod = {"metadata": metadata, "spec": spec, "status": {"startTime": text}}
    node = {"metadata": metadata, "status": {"capacity": amount, "allocatable": amount}}
    for decoder, tree in ((decoders.POD, pod), (decoders.NODE, node)):
        assert decoder.from_json(json.dumps(tree).encode()) is not None


def raised(work: Callable[[Any], None], value: Any) -> list[tuple[Any, str]]:
    try:
        work(value)
    except Exception as error:  # all of them at once
        return [(value, repr(error))]
    return []


@pytest.mark.row(39, "odd values", least=1_000_000, unit="cases")
@pytest.mark.row(39, "errors raised", most=0)
def test_no_odd_value_raises(figure: Tell) -> None:
    rng = random.Random(39)
    cases = whole(1_000_000, 20_000)
    errors: list[tuple[Any, str]] = []
    for case in range(cases):
        if case % 4 == 0:
            errors += raised(read_number, odd_number(rng))
            continue
        text = odd_text(rng)
        errors += raised(read_text, text)
        if case % 8 == 1:
            errors += raised(read_objects, text)
    print(errors[:20])
    figure("odd values", cases)
    figure("errors raised", len(errors))
