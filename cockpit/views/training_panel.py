"""Who is slow in a training run, who is missing, and whether it hangs: from its log and its cards."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from cockpit_widgets.types import Cell, Pair

from cockpit.jobs.members import LEADERS, short_name
from cockpit.jobs.training.hang import CardUse, NoProgress, no_progress
from cockpit.jobs.training.run import MOST_RANKS, RankTrace, TrainingRun
from cockpit.jobs.training.stalls import Sign, Stall
from cockpit.jobs.training.stragglers import Straggler, odd_ones, stragglers
from cockpit.model.gpu import Gpu
from cockpit.model.gpu_detail import GpuDetail
from cockpit.model.pod import Pod
from cockpit.model.quantity import Absent
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.views import cards
from cockpit.views import format as fmt
from cockpit.views.worker_use import use_of

MOST_NAMED = 3
_NUMBERS = re.compile(r"[0-9.]+")
MOST_LAST_LINES = 4
"""Different last lines that are shown: ranks that said the same stand together."""


class Compute(NamedTuple):
    """Of a member: what its slowest rank spends on its own in a step, and how far behind its peers it is."""

    rank: int
    seconds: float
    straggler: Straggler | None = None


class Lens(NamedTuple):
    """What is odd about the ranks of a run; empty while all is well."""

    slow: tuple[Straggler, ...] = ()
    stalls: tuple[Stall, ...] = ()
    no_progress: NoProgress | None = None
    last_lines: tuple[tuple[tuple[int, ...], str], ...] = ()
    computes: Mapping[str, Compute] = {}
    silent: tuple[int, ...] = ()
    """Ranks for which the others waited until their time was over, as who says nothing tells it."""
    gauges: tuple[str, ...] = ()
    """Members whose duty or CPU is far from their peers', a phrase each."""


def lens_of(
    run: TrainingRun, members: Sequence[Pod], store: StoreReader, now_seconds: float, *, is_running: bool
) -> Lens:
    """As it stands now. Of a run that has ended only what it said itself counts."""
    slow = stragglers({rank: tuple(one.computes) for rank, one in run.ranks.items()})
    found = None
    if is_running and not run.is_ended:
        cards = [use for pod in members for use in _uses(pod, store)]
        found = no_progress(_begun(run, members), run.usual_interval_seconds, now_seconds, cards)
    stalls = tuple(item for item in run.stalls if not _is_over(item, run.moved_seconds))
    silent = _silent(run, stalls)
    named = {*silent, *(rank for item in stalls for rank in item.ranks)}
    last = _last_lines(run.ranks.values(), named) if found is not None or stalls else ()
    gauges = tuple(_gauges(members, store)) if is_running else ()
    computes = _computes(run, members, slow)
    return Lens(slow if is_running else (), stalls, found, last, computes, silent, gauges)


def _silent(run: TrainingRun, stalls: Sequence[Stall]) -> tuple[int, ...]:
    """Who is missing when others ran out of time: ranks that neither did so nor wrote a line since.

    A process that is stopped, or hangs in its storage, says nothing; Gloo and NCCL do not tell for whom they
    waited. Where half of the ranks or more are silent none is named, but of two the other one.
    """
    waited = {rank for item in stalls if item.sign in _OUT_OF_TIME for rank in item.ranks}
    times = [item.at_seconds for item in stalls if item.sign in _OUT_OF_TIME and item.at_seconds is not None]
    size = run.size or 0
    if not waited or not times or not 2 <= size <= MOST_RANKS:
        return ()
    spoke = {
        rank
        for rank, one in run.ranks.items()
        if one.last_seconds is not None and one.last_seconds > min(times)
    }
    silent = tuple(rank for rank in range(size) if rank not in waited | spoke)
    return silent if 2 * len(silent) < size or size == 2 == 2 * len(silent) else ()


def _begun(run: TrainingRun, members: Sequence[Pod]) -> float | None:
    """Since when steps are waited for: the last that was told, or a start after it (resumed, tried again)."""
    if run.moved_seconds is None:
        return None
    starts = (pod.started_seconds for pod in members if pod.started_seconds is not None)
    begins = (rank.begun_seconds for rank in run.ranks.values() if rank.begun_seconds is not None)
    return max((run.moved_seconds, *starts, *begins))


def _gauges(members: Sequence[Pod], store: StoreReader) -> Iterable[str]:
    """The members that are odd by what telemetry measures of them."""
    workers = {pod.uid: pod for pod in members if pod.role not in LEADERS and pod.phase == "Running"}
    cpus: dict[str, float] = {}
    duties: dict[str, float] = {}
    for uid, pod in workers.items():
        cpu = use_of(pod, store).cpu_cores
        duty = cards.fold(store.gpus_of_pod(pod.namespace, pod.name), cards.duty, cards.mean)
        if not isinstance(cpu, Absent):
            cpus[uid] = cpu
        if not isinstance(duty, Absent):
            duties[uid] = duty
    for name, values, unit in (("duty", duties, ""), ("CPU", cpus, " cores")):
        for uid, odd in odd_ones(values).items():
            sure = "certain" if odd.is_certain else "likely"
            own, usual = (
                f"{item:.0%}" if not unit else f"{item:.1f}{unit}" for item in (odd.value, odd.median)
            )
            yield f"{short_name(workers[uid])}: {name} {own}, peers {usual}, {sure}"


def _is_over(stall: Stall, moved_seconds: float | None) -> bool:
    """Steps came after it: the ranks found each other again."""
    return stall.at_seconds is not None and moved_seconds is not None and stall.at_seconds < moved_seconds


def _uses(pod: Pod, store: StoreReader) -> Iterable[CardUse]:
    if not pod.gpus_allocated:
        return
    for card in store.gpus_of_pod(pod.namespace, pod.name):
        duty = card.duty_ratio
        yield CardUse(None if isinstance(duty, Absent) else duty, _power(card, store))


def _power(card: Gpu, store: StoreReader) -> float | None:
    detail = store.get(Kind.GPU_DETAIL, card.uuid)
    if not isinstance(detail, GpuDetail):
        return None
    watts, cap = card.power_watts, detail.power_cap_watts
    if isinstance(watts, float | int) and isinstance(cap, float | int) and cap > 0:
        return watts / cap
    return None


def _last_lines(
    traces: Iterable[RankTrace], named: Collection[int]
) -> tuple[tuple[tuple[int, ...], str], ...]:
    """The last line of each rank. Those that differ in numbers alone stand together, as the first said it;
    ranks that are named stand first, then those that say what few say."""
    alike: dict[tuple[bool, str], list[RankTrace]] = {}
    for item in sorted(traces, key=lambda trace: trace.rank):
        if item.last_line:
            key = (item.rank not in named, _NUMBERS.sub("#", item.last_line))
            alike.setdefault(key, []).append(item)
    ordered = sorted(alike.items(), key=lambda pair: (pair[0][0], len(pair[1])))
    return tuple((tuple(item.rank for item in group), group[0].last_line) for _, group in ordered)


def _computes(run: TrainingRun, members: Sequence[Pod], slow: Sequence[Straggler]) -> dict[str, Compute]:
    """By pod. Launchers start the ranks of a pod one after the other, pod by pod in their order."""
    workers = [pod for pod in members if pod.role not in LEADERS]
    size = run.size or len(run.ranks)
    if not workers or size % len(workers):
        return {}
    each = size // len(workers)
    marked = {item.rank: item for item in slow}
    found: dict[str, Compute] = {}
    for at, pod in enumerate(workers):
        own = [
            Compute(rank, run.ranks[rank].computes[-1][1], marked.get(rank))
            for rank in range(at * each, (at + 1) * each)
            if rank in run.ranks and run.ranks[rank].computes
        ]
        if own:
            found[pod.uid] = max(own, key=lambda one: (one.straggler is not None, one.seconds))
    return found


# ---- in words


def ranks_text(ranks: Sequence[int]) -> str:
    """`rank 4`, `ranks 1-3, 7`; of many the first few."""
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    parts = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    more = f" and {len(parts) - 2 * MOST_NAMED} more" if len(parts) > 2 * MOST_NAMED else ""
    named = ", ".join(parts[: 2 * MOST_NAMED]) + more
    return f"rank {named}" if len(ranks) == 1 else f"ranks {named}"


def slow_text(one: Straggler) -> str:
    """`8 % slower before the all-reduce, likely`."""
    sure = "certain" if one.is_certain else "likely"
    return f"{100 * one.excess:.0f} % slower before the all-reduce, {sure}"


def compute_cell(compute: Compute | None) -> Cell:
    """`64ms +23%`: the rank's own time of a step, and how far behind its peers it is, if it is."""
    if compute is None:
        return fmt.NOTHING
    seconds = compute.seconds
    text = f"{1e3 * seconds:.0f}ms" if seconds < 0.9995 else f"{seconds:.3g}s"
    if compute.straggler is None:
        return Cell(text)
    return Cell(f"{text} +{compute.straggler.excess:.0%}", "warn")


_OUT_OF_TIME = (Sign.TIMED_OUT, Sign.GLOO_TIMED_OUT, Sign.LOST_PEER)
_SAID = {
    Sign.MISSING: "missing: the others wait in a collective",
    Sign.TIMED_OUT: "timed out in a NCCL collective",
    Sign.GLOO_TIMED_OUT: "timed out in Gloo",
    Sign.LOST_PEER: "lost the connection to a peer (Gloo)",
}


def facts(lens: Lens) -> list[Pair]:
    """What stands on the page; nothing while all is well."""
    pairs: list[Pair] = []
    for sign in Sign:
        signs = [item for item in lens.stalls if item.sign is sign]
        ranks = sorted({rank for item in signs for rank in item.ranks})
        if signs:
            who = ranks_text(ranks) if ranks else "a rank that the log does not name"
            said = f"{who} {_SAID[sign]}"
            if lens.silent and ranks and sign in _OUT_OF_TIME:
                said = f"{ranks_text(lens.silent)} missing, likely: silent since {said}"
            pairs.append(Pair("waiting", said, "bad"))
    if lens.no_progress is not None:
        pairs.append(_no_progress_pair(lens.no_progress))
    if lens.slow:
        parts = [f"rank {item.rank}: {slow_text(item)}" for item in lens.slow[:MOST_NAMED]]
        more = [f"and {len(lens.slow) - MOST_NAMED} more"] if len(lens.slow) > MOST_NAMED else []
        pairs.append(Pair("slow ranks", " · ".join((*parts, *more)), "warn"))
    if lens.gauges:
        rest = f" · and {len(lens.gauges) - MOST_NAMED} more" if len(lens.gauges) > MOST_NAMED else ""
        pairs.append(Pair("odd ranks", " · ".join(lens.gauges[:MOST_NAMED]) + rest, "warn"))
    pairs += [
        Pair("last line", f"{ranks_text(ranks)}: {text}", "dim")
        for ranks, text in lens.last_lines[:MOST_LAST_LINES]
    ]
    return pairs


def _no_progress_pair(found: NoProgress) -> Pair:
    silent = f"no step for {fmt.age(found.seconds)}, usually every {fmt.span(max(1.0, found.usual_seconds))}"
    if found.is_hang and found.power_ratio is not None:
        gpus = "its GPU is" if found.cards == 1 else f"all {found.cards} GPUs are"
        why = f"{gpus} at full duty, at {fmt.percent(found.power_ratio)} of the power limit at most"
        return Pair("hang", f"probably a hung collective: {silent}; {why}", "bad")
    return Pair("progress stopped", silent, "warn")
