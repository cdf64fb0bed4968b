"""Which engines a cluster has: that their kind is served and that their controller lives are two facts.

A kind that is served proves only that somebody installed a CRD once. That a controller lives is told by its
pods where they can be seen, else by what only a controller writes: status on objects of the kind.
"""

from collections.abc import Callable, Iterable

from cockpit.gangs import registry
from cockpit.gangs.engine import Engine, InstalledEngine
from cockpit.model.gang import PodGroup, Workload
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader


def installed_engines(
    store: StoreReader, is_served: Callable[[str, str], bool]
) -> tuple[InstalledEngine, ...]:
    """All engines, those that are not there too. `is_served(group, plural)` comes from discovery."""
    return tuple(
        _look(one, store, is_served(one.controller.group, one.controller.plural))
        for one in registry.engines()
    )


def _look(engine: Engine, store: StoreReader, is_served: bool) -> InstalledEngine:
    if not is_served:
        said = f"is not installed: {engine.controller.plural}.{engine.controller.group} is not served"
        return InstalledEngine(engine=engine.name, is_served=False, is_alive=None, said=said)
    alive, told, pod = _life(engine, store)
    words = {
        True: "runs",
        False: "is installed, but its controller is not running",
        None: "is installed; whether its controller runs is unknown",
    }[alive]
    said = f"{words}: {told}" if told else words
    return InstalledEngine(engine=engine.name, is_served=True, is_alive=alive, said=said, pod=pod)


def _life(engine: Engine, store: StoreReader) -> tuple[bool | None, str, str]:
    """Whether its controller lives, what tells so, and the key of a pod of it that runs."""
    signs = engine.controller
    pods = [
        pod
        for pod in store.records(Kind.POD).values()
        if pod.name.startswith(signs.pods) and (not signs.namespaces or pod.namespace in signs.namespaces)
    ]
    running = [pod for pod in pods if pod.phase == "Running" and pod.is_ready]
    if running:
        return True, f"pod {running[0].key}", running[0].key
    if pods:
        return False, f"pod {pods[0].key} is not ready", ""
    return *_by_status(_status_records(engine, store)), ""


def _status_records(engine: Engine, store: StoreReader) -> Iterable[Workload | PodGroup]:
    """Objects whose status only its controller writes."""
    if engine.admits is not None:
        workloads: Iterable[Workload] = store.records(Kind.WORKLOAD).values()
        return workloads
    groups: Iterable[PodGroup] = store.records(Kind.POD_GROUP).values()
    return (one for one in groups if one.engine == engine.name)


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
