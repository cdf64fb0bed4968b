"""Which engine a new job goes to where nobody says: told from what the cluster has and what the job is.

The engine that the job's kind comes with; else the first that suits it and needs nothing that only a person
knows; else none.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cockpit.gangs import registry
from cockpit.gangs.engine import InstalledEngine, NewJob
from cockpit.model.pod import Pod

_WITHOUT_PODS = ("TrainJob",)


class Detected(NamedTuple):
    """The engine as `--engine` takes it, why in words, and the queue or scheduler that it needs."""

    engine: str
    because: str
    queue: str = ""
    scheduler: str = ""

    @property
    def word(self) -> str:
        """As `--engine` takes it, without the queue, which the template has a parameter for."""
        return f"{self.engine}:{self.scheduler}" if self.scheduler else self.engine


def choose_engine(
    api_version: str,
    kind: str,
    present: Sequence[InstalledEngine],
    queues: Sequence[str] | None,
    pods: Iterable[Pod] = (),
    *,
    has_pods: bool = True,
) -> Detected:
    """The engine for a job of that kind. `queues` are the queues of its namespace, None: not known.

    `has_pods` False: its manifest holds no pod template to which an engine could be attached.
    """
    own = registry.engine_with_own(api_version, kind)
    if own is not None:
        return Detected(own.word, f"a {own.name} {kind} is {own.name}'s own kind")
    told = {one.engine: one for one in present}
    job = NewJob(
        api_version,
        kind,
        None if queues is None else tuple(queues),
        pods,
        has_pods and kind not in _WITHOUT_PODS,
        registry.schedulers(),
    )
    apart = ""
    for engine in registry.engines():
        installed = told.get(engine.name)
        suited = (
            engine.suits(job, installed)
            if engine.suits is not None and installed is not None and installed.is_served
            else None
        )
        if suited is not None and suited.is_sure:
            return Detected(engine.word, suited.because, suited.queue, suited.scheduler)
        apart = apart or (suited.because if suited is not None else "")
    return Detected(registry.NONE.word, apart or "no active queueing engine supports this kind")
