"""What a scenario must keep to beyond its types: names that exist, one verb a step, readable durations."""

import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from cockpit.errors import BadInput
from cockpit.k8s.quantity import parse_quantity
from cockpit.sim.durations import seconds
from cockpit.sim.faults.reading import BadFault, read_rules
from cockpit.sim.scenarios.kinds import resource_called, resource_of
from cockpit.sim.scenarios.schema import VERBS, Scenario, ScenarioJob, ScenarioPool, ScenarioStep

Path = tuple[str | int, ...]
Found = Iterator[tuple[Path, str]]

_DURATIONS = {
    "seconds", "at", "launch", "join", "ready", "gpus_after", "every", "after", "first", "scan",
    "unneeded", "after_add", "day_seconds", "keep", "gives_up", "warm_most", "age",
}  # fmt: skip
_NEVER_ZERO = {"scan", "every", "day_seconds"}
_A_CENTURY = 3_153_600_000.0
_BOUNDS: dict[str, tuple[float, float]] = {
    "nodes": (0, 20_000), "gpus": (0, 1_000_000), "pods": (1, 10_000), "replicas": (1, 1_000),
    "rack_size": (0, 20_000), "workers": (1, 10_000), "count": (0, 100_000), "most": (1, 100_000),
    "retries": (0, 1_000), "per_second": (0.1, 10_000), "weight": (0, 1e9), "min": (0, 20_000),
    "max": (0, 20_000), "index": (0, 1_000), "xid": (0, 1_000),
    "remapped_rows": (0, 10_000), "heat": (-100, 200), "borrow": (0, 1e9),
    "value": (-1_000_000_000, 1_000_000_000), "exit_code": (0, 255),
}  # fmt: skip
_PROFILE = re.compile(r"\d+g\.\d+gb(\.[a-z0-9]+)*")
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_QUALIFIED = re.compile(
    r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
)


def amounts_of(part: Any, path: Path = ()) -> Found:
    """(path, sentence) for everything out of bounds, wherever it stands."""
    if isinstance(part, tuple):
        for index, item in enumerate(part):
            yield from amounts_of(item, (*path, index))
    if not isinstance(part, msgspec.Struct):
        return
    names = zip(part.__struct_fields__, part.__struct_encode_fields__, strict=True)
    for attribute, name in names:
        value = getattr(part, attribute)
        if value is not None:
            here = (*path, name)
            is_stage = attribute == "gpus" and type(part).__name__ == "Stages"
            if attribute in _DURATIONS or is_stage:
                yield from ((here, text) for text in _duration(attribute, value))
            else:
                yield from ((here, text) for text in _value(attribute, value))
                yield from amounts_of(value, here)


def _duration(attribute: str, value: Any) -> Iterator[str]:
    try:
        found = seconds(value)
    except ValueError as error:
        yield f"{error}."
        return
    if not found <= _A_CENTURY:
        yield f"{value!r} is longer than a century."
    elif not found and attribute in _NEVER_ZERO:
        yield f"{value!r} is no time at all; give at least 1ms."


def _value(attribute: str, value: Any) -> Iterator[str]:
    if attribute in _BOUNDS and isinstance(value, int | float) and not isinstance(value, bool):
        low, high = _BOUNDS[attribute]
        if not math.isfinite(value) or not low <= value <= high:
            yield f"{value} is not between {low:g} and {high:g}."
    elif attribute in ("cpu", "memory") and isinstance(value, str):
        yield from _quantity(value)
    elif attribute in ("labels", "annotations") and isinstance(value, dict):
        yield from _labels(value, has_plain_values=attribute == "labels")
    elif attribute == "mig" and isinstance(value, dict):
        yield from _profiles(value)
    elif attribute in ("resource", "key") and isinstance(value, str) and not _QUALIFIED.fullmatch(value):
        yield f"{value!r} is no qualified name; write for instance nvidia.com/gpu."
    elif attribute == "seconds_between":
        yield from _between(value)


def _quantity(value: str) -> Iterator[str]:
    try:
        amount = parse_quantity(value)
    except ValueError:
        amount = math.nan
    if not math.isfinite(amount) or amount < 0:
        yield f"{value!r} is no quantity; write for instance 4, 500m or 16Gi."


def _labels(value: dict[str, str], *, has_plain_values: bool) -> Iterator[str]:
    for key, text in value.items():
        if not _QUALIFIED.fullmatch(key):
            yield f"{key!r} is no label's key; use letters, digits, -, _ and . and at most one /."
        elif has_plain_values and not _LABEL_VALUE.fullmatch(text):
            yield f"{text!r} is no label's value; use at most 63 letters, digits, -, _ and dots."


def _profiles(value: dict[str, int]) -> Iterator[str]:
    for profile, count in value.items():
        if not _PROFILE.fullmatch(profile):
            yield f"{profile!r} is no MIG profile; write for instance 1g.5gb."
        elif not 1 <= count <= 10_000:
            yield f"{count} instances of {profile} are not between 1 and 10000."


def _between(value: Any) -> Iterator[str]:
    try:
        low, high = (seconds(one) for one in value)
    except ValueError as error:
        yield f"{error}."
        return
    if not low <= high <= _A_CENTURY:
        yield f"{value[0]} to {value[1]} runs backwards or is longer than a century."


_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,48}[a-z0-9])?")
"""Short enough for what is put behind it: the number in a bulk, the index and the suffix of a pod."""


class Fault(msgspec.Struct, frozen=True):
    """Where something is wrong, and the sentence about it."""

    path: Path
    sentence: str


def faults_of(scenario: Scenario) -> Iterator[Fault]:
    """Everything wrong, in the order of the fields; usually only the first is told."""
    yield from (Fault(path, text) for path, text in amounts_of(scenario))
    yield from _names(scenario)
    yield from _pools(scenario)
    yield from _queues(scenario)
    yield from _jobs(scenario)
    yield from _steps(scenario)
    yield from _streams(scenario)
    yield from _causes(scenario)
    yield from _misbehaviour(scenario)


def _names(scenario: Scenario) -> Iterator[Fault]:
    groups: Iterable[tuple[str, Iterable[str]]] = (
        ("namespaces", (one.name for one in scenario.namespaces)),
        ("priorities", (one.name for one in scenario.priorities)),
        ("pools", (one.name for one in scenario.pools)),
        ("queues", (one.name for one in scenario.queues)),
    )
    for field, names in groups:
        seen: set[str] = set()
        for index, name in enumerate(names):
            if not _NAME.fullmatch(name):
                yield Fault((field, index, "name"), _no_name(name))
            if name in seen:
                yield Fault((field, index, "name"), f"{name!r} is there twice; rename one.")
            seen.add(name)


def _pools(scenario: Scenario) -> Iterator[Fault]:
    for index, pool in enumerate(scenario.pools):
        yield from (Fault(("pools", index, field), text) for field, text in _pool(pool))


def _pool(pool: ScenarioPool) -> Iterator[tuple[str, str]]:
    if pool.gpus and not pool.product:
        yield "gpus", f"{pool.gpus} GPUs of which kind? Add product, for instance NVIDIA-H100-80GB-HBM3."
    if (pool.min is None) != (pool.max is None):
        yield "max" if pool.max is not None else "min", "min and max go together."
    if pool.min is not None and pool.max is not None:
        if pool.owner == "none":
            yield "min", "only a pool with owner: machines can be scaled by itself."
        if not pool.min <= pool.nodes <= pool.max:
            yield "nodes", f"{pool.nodes} is not between min {pool.min} and max {pool.max}."
    if pool.mig and pool.replicas > 1:
        yield "mig", "a card is cut by MIG or shared by time, not both."


def _queues(scenario: Scenario) -> Iterator[Fault]:
    pools = {pool.name for pool in scenario.pools}
    queues = {queue.name for queue in scenario.queues}
    for index, queue in enumerate(scenario.queues):
        if not queue.flavors:
            yield Fault(("queues", index, "flavors"), "a queue needs at least one flavor.")
        for at, flavor in enumerate(queue.flavors):
            if flavor.pool not in pools:
                yield Fault(("queues", index, "flavors", at, "pool"), _unknown("pool", flavor.pool, pools))
    for index, namespace in enumerate(scenario.namespaces):
        if namespace.queue and namespace.queue not in queues:
            yield Fault(("namespaces", index, "queue"), _unknown("queue", namespace.queue, queues))


def _jobs(scenario: Scenario) -> Iterator[Fault]:
    for path, job in jobs_of(scenario):
        yield from (Fault((*path, field), text) for field, text in _job(scenario, job))


def jobs_of(scenario: Scenario) -> Iterator[tuple[Path, ScenarioJob]]:
    """Every job that the scenario can submit, with its place."""
    for index, bulk in enumerate(scenario.standing.bulk if scenario.standing else ()):
        yield ("standing", "bulk", index, "job"), bulk.job
    for index, bulk in enumerate(scenario.bulk):
        yield ("bulk", index, "job"), bulk.job
    for index, step in enumerate(scenario.steps):
        if step.submit is not None:
            yield ("steps", index, "submit"), step.submit
    for index, stream in enumerate(scenario.streams):
        for at, choice in enumerate(stream.jobs):
            yield ("streams", index, "jobs", at, "job"), choice.job


def _job(scenario: Scenario, job: ScenarioJob) -> Iterator[tuple[str, str]]:
    namespaces = {one.name: one for one in scenario.namespaces}
    if not _NAME.fullmatch(job.name):
        yield "name", _no_name(job.name)
    if job.namespace not in namespaces:
        yield "namespace", _unknown("namespace", job.namespace, namespaces)
    elif job.queue and job.queue == "main" and not namespaces[job.namespace].queue:
        yield "queue", f"namespace {job.namespace!r} has no queue; give it one under namespaces."
    priorities = {one.name for one in scenario.priorities}
    if job.priority and job.priority not in priorities:
        yield "priority", _unknown("priority", job.priority, priorities)
    pools = {pool.name for pool in scenario.pools}
    if job.pool and job.pool not in pools:
        yield "pool", _unknown("pool", job.pool, pools)


def _steps(scenario: Scenario) -> Iterator[Fault]:
    pools = {pool.name for pool in scenario.pools}
    for index, step in enumerate(scenario.steps):
        verbs = verbs_of(step)
        if len(verbs) != 1:
            said = " and ".join(verbs) or "none"
            names = ", ".join(verb.replace("_", "-") for verb in VERBS)
            yield Fault(("steps", index), f"a step does one thing ({names}), this one says {said}.")
        if step.node is not None and step.node.pool not in pools:
            yield Fault(("steps", index, "node", "pool"), _unknown("pool", step.node.pool, pools))
        if step.node is not None and not _NAME.fullmatch(step.node.name):
            yield Fault(("steps", index, "node", "name"), _no_name(step.node.name))
        yield from _objects(step, ("steps", index))


def _objects(step: ScenarioStep, path: Path) -> Iterator[Fault]:
    """What a step names by kind."""
    if step.apply is not None:
        metadata = step.apply.get("metadata")
        if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
            yield Fault((*path, "apply"), "metadata.name is missing; say what it is called.")
        try:
            resource_of(step.apply)
        except BadInput as error:
            yield Fault((*path, "apply"), error.sentence)
    if step.delete is not None:
        try:
            resource_called(step.delete.kind)
        except BadInput as error:
            yield Fault((*path, "delete", "kind"), error.sentence)


def _streams(scenario: Scenario) -> Iterator[Fault]:
    for index, stream in enumerate(scenario.streams):
        if not stream.jobs:
            yield Fault(("streams", index, "jobs"), "a stream needs at least one job.")
        elif not sum(one.weight for one in stream.jobs):
            yield Fault(("streams", index, "jobs"), "every weight is 0; give one job a weight above it.")


def verbs_of(step: ScenarioStep) -> list[str]:
    """The verbs that a step says."""
    return [verb for verb in VERBS if getattr(step, verb) is not None]


def _causes(scenario: Scenario) -> Iterator[Fault]:
    from cockpit.sim.scenarios.incidents import causes

    if scenario.incidents is None:
        return
    known = causes()
    if not scenario.incidents.causes:
        yield Fault(("incidents", "causes"), f"no cause to draw from; there are: {', '.join(sorted(known))}.")
    for index, cause in enumerate(scenario.incidents.causes):
        if cause not in known:
            yield Fault(("incidents", "causes", index), _unknown("cause", cause, known))


def _no_name(name: str) -> str:
    return f"{name!r} is no name; use at most 50 of a-z, 0-9 and -."


def _unknown(what: str, name: str, known: Iterable[str]) -> str:
    return f"there is no {what} {name!r}; there are: {', '.join(sorted(known)) or 'none'}."


def _misbehaviour(scenario: Scenario) -> Iterator[Fault]:
    """The faults of the server, read as the fault layer will read them."""
    try:
        read_rules(scenario.faults)
    except BadFault as error:
        yield Fault(("faults", *error.path), error.why)
