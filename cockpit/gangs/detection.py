"""Which engine a new job goes to where nobody says: told from what the cluster has and what the job is.

Kueue where it is not known to be dead and the namespace has one queue (or one that is called `default`, which
Kueue itself takes for unlabelled jobs); then an engine that is seen at work and needs nothing that only a
person knows; else none.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from cockpit.gangs import coscheduling, kai, native, volcano
from cockpit.gangs.kueue_attach import is_managed
from cockpit.gangs.presence import Presence
from cockpit.gangs.sentence import counted
from cockpit.model.pod import Pod

ENGINES: Final = ("kueue", "coscheduling", "volcano", "native", "kai", "none")
NAMES: Final = {
    "kueue": "Kueue",
    "coscheduling": coscheduling.NAME,
    "volcano": volcano.NAME,
    "native": native.NAME,
    "kai": kai.NAME,
}
"""The word on the command line to the engine's name."""

_WITHOUT_PODS: Final = ("TrainJob",)
_WITHOUT_GROUP_FIELD: Final = ("MPIJob", "TrainJob")


class Detected(NamedTuple):
    """The engine, what it needs to be named (Kueue's queue, coscheduling's scheduler), and why in words."""

    engine: str
    more: str
    because: str

    @property
    def word(self) -> str:
        """As `--engine` takes it, without Kueue's queue, which the template has a parameter for."""
        is_scheduler = self.engine == "coscheduling" and self.more
        return f"{self.engine}:{self.more}" if is_scheduler else self.engine


def detect(
    api_version: str,
    kind: str,
    present: Sequence[Presence],
    queues: Sequence[str] | None,
    pods: Iterable[Pod] = (),
) -> Detected:
    """The engine for a job of that kind. `queues` are the LocalQueues of its namespace, None: not known."""
    if api_version == volcano.JOB_API_VERSION:
        return Detected("volcano", "", "a Volcano Job is Volcano's own kind")
    told = {one.engine: one for one in present}
    kueue = told.get("Kueue")
    apart = ""
    if kueue is not None and kueue.is_usable and is_managed(api_version, kind) and queues is not None:
        queue = queues[0] if len(queues) == 1 else "default" if "default" in queues else ""
        if queue:
            return Detected("kueue", queue, f"{kueue.sentence}; queue {queue} is there")
        apart = (
            f"Kueue has {counted(len(queues), 'queue')} here: choose one to start as a gang"
            if queues
            else "Kueue has no queue in this namespace: choose one where it has, to start as a gang"
        )
    if kind not in _WITHOUT_PODS:
        for engine in ("coscheduling", "volcano", "native"):
            one = told.get(NAMES[engine])
            if one is None or not one.is_served or one.is_alive is not True:
                continue
            if engine == "native" and kind in _WITHOUT_GROUP_FIELD:
                continue
            scheduler = _scheduler(one, pods) if engine == "coscheduling" else ""
            if scheduler is not None:
                return Detected(engine, scheduler, one.sentence)
    return Detected("none", "", apart or "no engine is seen at work that takes this kind")


def _scheduler(one: Presence, pods: Iterable[Pod]) -> str | None:
    """Name of the scheduler as pods of gangs have it; "" for the usual one; None where nothing tells."""
    taken = (pod.scheduler for pod in pods if pod.gang and pod.scheduler not in ("", "default-scheduler"))
    names = {name for name in taken if name not in (volcano.SCHEDULER, kai.SCHEDULER)}
    if len(names) == 1:
        (name,) = names
        return "" if name == coscheduling.SCHEDULER else name
    return "" if not names and "scheduler-plugins-scheduler" in one.sentence else None
