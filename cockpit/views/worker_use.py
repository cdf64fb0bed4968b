"""CPU and network of workers beside their GPUs: whether a GPU waits for the network, or for data.

A worker that exchanges gradients sends about as much as it receives. One that reads its data over the network
receives far more than it sends; one whose loader is too slow is at the end of its CPU. So a card that idles
between steps waits for the network where both directions are busy alike, and for data where the CPU is at
what was asked for or where only the way in is busy. Anything else is not told. The limits are our own choice.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from cockpit_widgets.types import Cell, Pair

from cockpit.model.pod import Pod
from cockpit.model.pod_use import PodUse
from cockpit.model.quantity import Absent, Reading, is_number
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.views import cards
from cockpit.views import format as fmt

WAITS_RATIO = 0.7
"""A card below this duty waits for something a good part of the time."""
BUSY_CPU_RATIO = 0.85
"""Of what the containers asked for."""
BUSY_BYTES_PER_SECOND = 50e6
"""From here on a worker's network counts as busy."""
ALIKE_RATIO = 0.5
"""The quieter direction has at least this share of the busier one where workers exchange gradients."""

NETWORK, DATA, EITHER = "the network", "data", "data or the network"


def use_of(pod: Pod, store: StoreReader) -> PodUse:
    """What is known of the pod; an empty record where it is not collected."""
    found = store.get(Kind.POD_USE, pod.uid)
    return found if isinstance(found, PodUse) else PodUse(uid=pod.uid)


def waits_for(duty: Reading, pod: Pod, use: PodUse) -> str:
    """What a worker's cards wait for, "" where they are busy or nothing tells."""
    if isinstance(duty, Absent) or duty >= WAITS_RATIO:
        return ""
    ways = (use.receive_bytes_per_second, use.transmit_bytes_per_second)
    received, sent = (0.0 if isinstance(item, Absent) else item for item in ways)
    is_known = all(is_number(item) for item in ways)
    is_busy = max(received, sent) >= BUSY_BYTES_PER_SECOND
    exchanges = is_known and is_busy and min(received, sent) >= ALIKE_RATIO * max(received, sent)
    is_fed_late = is_known and is_busy and not exchanges and received > sent
    if isinstance(use.cpu_cores, Absent) or not pod.cpu_millicores:
        is_at_its_end = False
    else:
        is_at_its_end = use.cpu_cores * 1000 >= BUSY_CPU_RATIO * pod.cpu_millicores
    if exchanges:
        return EITHER if is_at_its_end else NETWORK
    return DATA if is_at_its_end or is_fed_late else ""


def rate(bytes_per_second: float) -> str:
    """Bytes a second in powers of 1000, as networks are sold: 850MB/s, 1.2GB/s."""
    for factor, unit in ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")):
        if bytes_per_second >= 0.9995 * factor:
            value = bytes_per_second / factor
            return f"{value:.1f}{unit}" if value < 9.95 else f"{value:.0f}{unit}"
    return f"{bytes_per_second:.0f}B/s"


def cpu_cell(pod: Pod, use: PodUse) -> Cell:
    """Cores used of those asked for."""
    if isinstance(use.cpu_cores, Absent):
        return fmt.absent_cell(use.cpu_cores)
    asked = f"/{fmt.cores(pod.cpu_millicores)}" if pod.cpu_millicores else ""
    is_full = bool(asked) and use.cpu_cores * 1000 >= BUSY_CPU_RATIO * pod.cpu_millicores
    return Cell(f"{use.cpu_cores:.1f}{asked}", "warn" if is_full else "")


def rate_cell(bytes_per_second: Reading) -> Cell:
    if isinstance(bytes_per_second, Absent):
        return fmt.absent_cell(bytes_per_second)
    return Cell(rate(bytes_per_second))


@dataclass(frozen=True, slots=True)
class _Worker:
    pod: Pod
    use: PodUse
    waits: str


def fact(members: Iterable[Pod], store: StoreReader) -> Pair | None:
    """CPU and I/O of a job's workers, and what their GPUs wait for; None where none has GPUs."""
    workers = []
    for pod in members:
        if not pod.gpus_allocated:
            continue
        duty = cards.fold(store.gpus_of_pod(pod.namespace, pod.name), cards.duty, cards.mean)
        use = use_of(pod, store)
        workers.append(_Worker(pod, use, waits_for(duty, pod, use)))
    if not workers:
        return None
    if all(isinstance(value, Absent) for item in workers for value in _readings(item.use)):
        return Pair("workers", f"CPU and network {fmt.absent_cell(Absent.NOT_COLLECTED).text}", "dim")
    means = [
        f"CPU {_mean((one.use.cpu_cores for one in workers), lambda cores: f'{cores:.1f} cores')}",
        f"in {_mean((one.use.receive_bytes_per_second for one in workers), rate)}",
        f"out {_mean((one.use.transmit_bytes_per_second for one in workers), rate)}",
    ]
    waiting = {what: sum(item.waits == what for item in workers) for what in (NETWORK, DATA, EITHER)}
    said = [
        f"GPUs wait for {what} on {'each' if count == len(workers) else f'{count} of {len(workers)}'}"
        for what, count in waiting.items()
        if count
    ]
    return Pair("workers", " · ".join([*said, *means]), "warn" if said else "")


def _readings(use: PodUse) -> tuple[Reading, ...]:
    return use.cpu_cores, use.receive_bytes_per_second, use.transmit_bytes_per_second


def _mean(values: Iterable[Reading], draw: Callable[[float], str]) -> str:
    known: Sequence[float] = [value for value in values if not isinstance(value, Absent)]
    return draw(fmean(known)) if known else fmt.absent_cell(Absent.NOT_COLLECTED).text
