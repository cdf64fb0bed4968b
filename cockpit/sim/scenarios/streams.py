"""Jobs that keep coming: when the next one is due, what it is, and when it is taken away."""

import math
from collections.abc import Callable
from random import Random

import msgspec

from cockpit.kube.resource import Resource
from cockpit.sim.durations import seconds
from cockpit.sim.port import Tree
from cockpit.sim.scenarios.schema import JobStream, ScenarioJob
from cockpit.sim.times import seconds_of

_LEAST_RATE = 0.05
_DAYS_SWING = 0.95
_ENDS = ("Complete", "Failed", "Succeeded")

Name = tuple[Resource, str, str]
"""Of one object: resource, namespace, name."""
Look = Callable[[Name], Tree | None]


class Arrival(msgspec.Struct, frozen=True):
    """A job of a stream that came: the objects it was created as."""

    at_seconds: float
    objects: tuple[Name, ...]


def wait_seconds(stream: JobStream, elapsed_seconds: float, random: Random) -> float:
    """Until the stream's next job, drawn. Times count from the story's start."""
    mean = seconds(stream.every)
    if stream.day_seconds is not None:
        hour = math.sin(2 * math.pi * elapsed_seconds / seconds(stream.day_seconds) - math.pi / 2)
        mean /= max(_LEAST_RATE, 1.0 + _DAYS_SWING * hour)
    return random.expovariate(1.0 / mean) if mean > 0 else 1.0


def draw(stream: JobStream, number: int, random: Random) -> ScenarioJob:
    """One of the stream's jobs by their weights, under a name of its own."""
    (choice,) = random.choices(stream.jobs, [one.weight for one in stream.jobs])
    job = choice.job
    if choice.seconds_between is not None:
        low, high = (seconds(one) for one in choice.seconds_between)
        job = msgspec.structs.replace(job, seconds=round(random.uniform(low, high), 1))
    return msgspec.structs.replace(job, name=f"{job.name}-{number}")


def ended_seconds(trees: list[Tree]) -> float | None:
    """When the last of a job's objects ended; None while one has not. Groups and the like do not count."""
    found = [_ended(tree) for tree in trees if tree["kind"] in ("Job", "MPIJob", "Pod", "Deployment")]
    known = [one for one in found if one is not None]
    return max(known) if known and len(known) == len(found) else None


def _ended(tree: Tree) -> float | None:
    status = tree.get("status") or {}
    if status.get("phase") in ("Succeeded", "Failed"):
        return _pod_ended(tree)
    for one in status.get("conditions") or ():
        if one["type"] in _ENDS and one["status"] == "True":
            return seconds_of(one["lastTransitionTime"])
    return None


def _pod_ended(pod: Tree) -> float:
    times = [
        seconds_of(state["finishedAt"])
        for one in pod["status"].get("containerStatuses") or ()
        if (state := (one.get("state") or {}).get("terminated")) and state.get("finishedAt")
    ]
    return max(times, default=seconds_of(pod["metadata"]["creationTimestamp"]))


class Comings:
    """The jobs of one stream that are still there."""

    def __init__(self, stream: JobStream) -> None:
        self.stream = stream
        self._there: list[Arrival] = []

    def note(self, arrival: Arrival) -> None:
        """One more has come."""
        self._there.append(arrival)

    def has_room(self, look: Look) -> bool:
        """Whether another may come: those that have ended do not count."""
        open_ = sum(ended_seconds(_trees(one, look)) is None for one in self._there)
        return open_ < self.stream.most

    def leaving(self, now_seconds: float, look: Look) -> list[Name]:
        """Objects to take away now: of jobs that ended a while ago, or whose owner gave up."""
        found: list[Name] = []
        staying: list[Arrival] = []
        for one in self._there:
            trees = _trees(one, look)
            ended = ended_seconds(trees)
            keep = seconds(self.stream.keep)
            patience = self.stream.gives_up
            is_over = ended is not None and now_seconds - ended > keep
            is_given_up = (
                ended is None and patience is not None and now_seconds - one.at_seconds > seconds(patience)
            )
            if not trees:
                continue
            if is_over or is_given_up:
                found += one.objects
            else:
                staying.append(one)
        self._there = staying
        return found


def _trees(arrival: Arrival, look: Look) -> list[Tree]:
    return [tree for name in arrival.objects if (tree := look(name)) is not None]
