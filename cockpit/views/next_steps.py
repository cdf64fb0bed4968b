"""What an empty list says beside that it is empty: what was looked for, and what to press or run next."""

from typing import Final

from cockpit.gangs import registry as engines
from cockpit.k8s.gpu_resources import gpu_names
from cockpit.model.batch import Phase, StreamStatus
from cockpit.model.namespaces import EVERY, Namespaces, namespaces_of
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.pools import registry as pools
from cockpit.views.fleet import fleet
from cockpit.views.states import why_empty

_OTHER_NAMESPACES: Final = "ctrl+n shows other namespaces"


def looked_for() -> str:
    """The resources that count as GPUs."""
    return f"nvidia.com/gpu, amd.com/gpu and {len(gpu_names()) - 2} more resources"


def no_gpus(store: StoreReader) -> str:
    """Why a cluster that was read shows no GPUs, and what to do; "" where it has some, or is not read."""
    found, status = fleet(store), store.status(Kind.NODE)
    if not found.nodes or found.gpus or found.joining or status is None or not status.is_current:
        return ""
    nodes = (
        "The only node offers no GPUs" if found.nodes == 1 else f"None of {found.nodes:,} nodes offers GPUs"
    )
    return (
        f"{nodes} (looked for {looked_for()}). Install the device plugin or GPU operator of the vendor, "
        "or run cockpit doctor for what is missing."
    )


def no_jobs(status: StreamStatus | None, within: Namespaces, *, is_read_only: bool) -> str:
    """Why there are no jobs, and how to submit one."""
    submit = "type :write and press N to submit one" if is_read_only else "press N to submit one"
    return _with_step("jobs", status, within, submit)


def no_pods(status: StreamStatus | None, within: Namespaces) -> str:
    """Why there are no pods."""
    return _with_step("pods", status, within, "")


def no_queues(store: StoreReader, within: Namespaces) -> str:
    """Why there are no queues; where no engine is installed, which were looked for."""
    queueing = [engine for engine in engines.engines() if engine.queues.local or engine.queues.cluster]
    found = [store.status(engine.queues.local or engine.queues.cluster) for engine in queueing]
    known = [status for status in found if status is not None]
    served = [status for status in known if status.phase is not Phase.ABSENT]
    if len(known) == len(found) and not served:
        names = ", ".join(engine.name for engine in queueing)
        return f"No queues: none of {names} is installed. Jobs start as soon as nodes have room."
    return _with_step("queues", next(iter(served or known), None), within, "")


def no_pools(store: StoreReader) -> str:
    """Why there are no pools, and by what one would be known."""
    labels = [label for owner in pools.owners() if (label := owner.traits.node_label)]
    known = ", ".join(labels[:2])
    by = f"a pool is known by a label of its nodes ({known}, ...) or an object of its owner"
    return _with_step("pools", store.status(Kind.NODE), EVERY, by)


def _with_step(what: str, status: StreamStatus | None, within: Namespaces, step: str) -> str:
    sentence = why_empty(what, status, within=within)
    if status is None or not status.is_current or status.phase is Phase.ABSENT:
        return sentence
    is_narrow = bool(within or namespaces_of(status.scope))
    steps = "; ".join(filter(None, (step, _OTHER_NAMESPACES if is_narrow else "")))
    return f"{sentence} {steps[0].upper()}{steps[1:]}." if steps else sentence
