"""A reflector at work for one case: its rows in a mirror, its naps counted instead of slept."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from cockpit.clock import Clock, ManualClock, SystemClock
from cockpit.kube.decode import decoders
from cockpit.kube.decode.decoders import Decoder
from cockpit.kube.reflector import Reflector
from cockpit.kube.resource import EVENTS, JOBS, NAMESPACES, NODES, PODS, Resource
from cockpit.kube.session import ApiSession
from tests.contract.mirror import Mirror, eventually

CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap", namespaced=True)
QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota", namespaced=True)
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment", namespaced=True)
DECODERS: dict[Resource, Decoder] = {
    NODES: decoders.NODE,
    PODS: decoders.POD,
    EVENTS: decoders.EVENT,
    JOBS: decoders.JOB,
    NAMESPACES: decoders.NAMESPACE,
}


def decoder_of(resource: Resource) -> Decoder:
    """The decoder of a known kind; metadata alone of any other built-in one, pool rows of a custom one."""
    if resource in DECODERS:
        return DECODERS[resource]
    return decoders.pool_decoder(resource) if "." in resource.group else decoders.NAMESPACE


@dataclass
class Naps:
    """Takes the place of asyncio.sleep: moves the clock at once, and lets the case hold the sleeper.

    `gate` is closed by a case that wants the stream to stay asleep until it says so.
    """

    clock: ManualClock | None
    taken: list[float] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: bool = False
    hold_after_seconds: float | None = None  # of naps in sum: then the gate closes by itself

    def __post_init__(self) -> None:
        self.gate.set()

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)
        if self.hold_after_seconds is not None and sum(self.taken) >= self.hold_after_seconds:
            self.gate.clear()
        self.waiting = True
        await self.gate.wait()
        self.waiting = False
        if self.clock is not None:
            self.clock.advance(seconds)
        await asyncio.sleep(0)

    async def hold_after(self, seconds: float) -> None:
        """Lets `seconds` of naps pass, then holds the sleeper; returns when it is held."""
        self.hold_after_seconds = sum(self.taken) + seconds
        await eventually(lambda: self.waiting and not self.gate.is_set(), f"{seconds:.0f} s of naps")


@dataclass
class Following:
    mirror: Mirror
    naps: Naps
    clock: Clock
    task: "asyncio.Task[Any]"


@asynccontextmanager
async def following(
    session: ApiSession,
    resource: Resource,
    *,
    namespace: str = "",
    clock: Clock | None = None,
    mirror: Mirror | None = None,
    seed: int = 7,
    **options: Any,
) -> AsyncIterator[Following]:
    """Runs a reflector while the block runs. With a ManualClock naps move it; they never take real time."""
    clock = clock or SystemClock()
    naps = Naps(clock if isinstance(clock, ManualClock) else None)
    mirror = mirror or Mirror()
    decoder = options.pop("decoder", None) or decoder_of(resource)
    reflector = Reflector(
        session,
        resource,
        decoder,
        mirror,
        kind=decoder.kind,
        namespace=namespace,
        clock=clock,
        rng=random.Random(seed),
        sleep=naps,
        **options,
    )
    task = asyncio.create_task(reflector.run())
    task.add_done_callback(lambda done: mirror.ended(done))
    try:
        yield Following(mirror, naps, clock, task)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
