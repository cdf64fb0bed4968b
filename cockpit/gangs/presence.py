"""Which engines a cluster has: that their kind is served and that their controller lives are two facts.

A kind that is served proves only that somebody installed a CRD once. That a controller lives is told by its
pods where they can be seen, else by what only a controller writes: status on objects of the kind.
"""

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from cockpit.model.gang import PodGroup, Workload
from cockpit.model.record import Kind
from cockpit.store.store import Store


class Presence(msgspec.Struct, frozen=True, kw_only=True):
    """One engine. `is_alive` None: nothing tells. `sentence` says both facts and what tells them."""

    engine: str
    is_served: bool
    is_alive: bool | None
    sentence: str

    @property
    def is_usable(self) -> bool:
        """True unless it is missing or known to be dead."""
        return self.is_served and self.is_alive is not False


class _Sign(msgspec.Struct, frozen=True):
    """How an engine is known: its kind, and the names with which its controller's pods begin."""

    engine: str
    group: str
    plural: str
    pods: tuple[str, ...]


SIGNS: Final = (
    _Sign("Kueue", "kueue.x-k8s.io", "workloads", ("kueue-controller-manager",)),
    _Sign("Volcano", "scheduling.volcano.sh", "podgroups", ("volcano-scheduler",)),
    _Sign(
        "Coscheduling",
        "scheduling.x-k8s.io",
        "podgroups",
        ("scheduler-plugins-scheduler", "scheduler-plugins"),
    ),
    _Sign("native gang", "scheduling.k8s.io", "podgroups", ("kube-scheduler",)),
    _Sign("KAI", "scheduling.run.ai", "podgroups", ("kai-scheduler", "scheduler")),
)
_NAMESPACES: Final = {"KAI": ("kai-scheduler",)}


def presences(store: Store, is_served: Callable[[str, str], bool]) -> tuple[Presence, ...]:
    """All engines, those that are not there too. `is_served(group, plural)` comes from discovery."""
    return tuple(_presence(sign, store, is_served(sign.group, sign.plural)) for sign in SIGNS)


def _presence(sign: _Sign, store: Store, is_served: bool) -> Presence:
    if not is_served:
        sentence = f"{sign.engine} is not installed: {sign.plural}.{sign.group} is not served"
        return Presence(engine=sign.engine, is_served=False, is_alive=None, sentence=sentence)
    alive, told = _life(sign, store)
    words = {
        True: f"{sign.engine} runs",
        False: f"{sign.engine} is installed and its controller does not run",
        None: f"{sign.engine} is installed; whether its controller runs is not known",
    }[alive]
    return Presence(
        engine=sign.engine, is_served=True, is_alive=alive, sentence=f"{words}: {told}" if told else words
    )


def _life(sign: _Sign, store: Store) -> tuple[bool | None, str]:
    wanted = _NAMESPACES.get(sign.engine)
    pods = [
        pod
        for pod in store.records(Kind.POD).values()
        if pod.name.startswith(sign.pods) and (wanted is None or pod.namespace in wanted)
    ]
    running = [pod for pod in pods if pod.phase == "Running" and pod.is_ready]
    if running:
        return True, f"pod {running[0].key}"
    if pods:
        return False, f"pod {pods[0].key} is not ready"
    if sign.engine == "Kueue":
        return _by_status(store.records(Kind.WORKLOAD).values())
    return _by_status(one for one in store.records(Kind.POD_GROUP).values() if one.engine == sign.engine)


def _has_status(one: Workload | PodGroup) -> bool:
    return bool(one.conditions) or (isinstance(one, PodGroup) and bool(one.phase))


def _by_status(records: Iterable[Workload | PodGroup]) -> tuple[bool | None, str]:
    """What was written on objects: some status means that a controller was there, none that it is not."""
    newest = sorted(records, key=lambda one: (-(one.created_seconds or 0.0), one.key))
    if not newest:
        return None, ""
    written = next((one for one in newest if _has_status(one)), None)
    if written is None:
        return False, f"{newest[0].key} has no status"
    return True, f"it wrote the status of {written.key}"
