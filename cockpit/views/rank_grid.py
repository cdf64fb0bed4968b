"""Hundreds of ranks at a glance: a cell each, the odd ones marked and named in one sentence."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from cockpit_widgets.types import GridCell, TableSource, Tone

from cockpit.jobs.members import LEADERS, seat_number
from cockpit.model.pod import Pod
from cockpit.model.quantity import Absent, Reading
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.views import cards, training_panel
from cockpit.views import format as fmt
from cockpit.views.heatmap import ABSENT_LEVELS, IMPLAUSIBLE, NOT_COLLECTED, STALE
from cockpit.views.job_grid import FEWEST, lags
from cockpit.views.job_page import MemberRow
from cockpit.views.states import pod_brief, pod_glyph, pod_words
from cockpit.views.training_panel import Compute

MOST_IN_TABLE = 32
"""Members beyond which a page begins with the grid: fewer are read faster as lines."""
LAGS, AGAIN, CARD, APART, SLOW = "▼", "↻", "◇", "◆", "◣"
_MEANINGS = {LAGS: "lags", AGAIN: "restarted", CARD: "other card", APART: "alone", SLOW: "slow"}
_MOST_WORDS = 2
"""States told for one glyph of the legend; more are "and others"."""
LEAD = "lead"
"""What the row of launchers and masters is called: short, as the ranks' numbers are."""
_MOST_PHRASES = 4


@dataclass(frozen=True, slots=True)
class Anomaly:
    """What is odd about a rank. `weight` orders ranks that are odd in the same way, the worst first."""

    way: str
    glyph: str
    tone: Tone
    phrase: str
    weight: float = 0.0


@dataclass(frozen=True, slots=True)
class RankGrid:
    """Cells by group (who leads, then the ranks), one sentence about the odd ones ("" for none), what is odd
    about each, and what the glyphs mean."""

    groups: tuple[tuple[GridCell, ...], ...]
    sentence: str
    odd: dict[str, Anomaly]
    caption: str = ""


_WAYS = ("state", "slow", "duty", "again", "card", "apart")
"""The worst first: it gives the cell its glyph, and speaks first."""


def grid(
    members: Sequence[Pod],
    store: StoreReader,
    only: Collection[str] | None = None,
    computes: Mapping[str, Compute] | None = None,
) -> RankGrid:
    """The cells of a job's members in the order given; `only` are the uids that a filter leaves."""
    told = computes or {}
    rows = [MemberRow(pod, store, told.get(pod.uid)) for pod in members]
    ranks = [row for row in rows if row.pod.role not in LEADERS]
    odd: dict[str, list[Anomaly]] = {}
    for find in (_other_state, _slow, _low_duty, _restarted, _other_card, _alone):
        for uid, one in find(ranks):
            odd.setdefault(uid, []).append(one)
    for row in rows:
        if row.pod.role in LEADERS and pod_words(row.pod)[1] == "bad":
            odd[row.pod.uid] = [_state_of(row.pod)]
    shown = [row for row in rows if only is None or row.pod.uid in only]
    leading = tuple(_cell(row, LEAD, odd) for row in shown if row.pod.role in LEADERS)
    others = tuple(
        _cell(row, seat_number(row.pod) or str(at), odd)
        for at, row in enumerate(row for row in shown if row.pod.role not in LEADERS)
    )
    worst = {uid: found[0] for uid, found in odd.items()}
    names = {row.pod.uid: name_of(row.pod) for row in rows}
    caption = _caption((*leading, *others), {row.pod.uid: row.pod for row in rows})
    groups = tuple(group for group in (leading, others) if group)
    return RankGrid(groups, _sentence(odd, names), worst, caption)


def _caption(cells: Sequence[GridCell], pods: Mapping[str, Pod]) -> str:
    """What the glyphs mean that stand there, and no others."""
    levels = {cell.level for cell in cells if not cell.glyph}
    said = ["shade: duty"] if any(level is not None and level >= 0 for level in levels) else []
    states: dict[str, Counter[str]] = {}
    for cell in cells:
        if cell.glyph and cell.glyph not in _MEANINGS:
            states.setdefault(cell.glyph, Counter())[pod_brief(pods[cell.key])] += 1
    for glyph, words in states.items():
        told = ", ".join(word for word, _ in words.most_common(_MOST_WORDS))
        said.append(f"{glyph} {told}{' and others' * (len(words) > _MOST_WORDS)}")
    glyphs = {cell.glyph for cell in cells}
    said += [f"{glyph} {meaning}" for glyph, meaning in _MEANINGS.items() if glyph in glyphs]
    said += [f"{fmt.NOT_COLLECTED} n/c"] * (NOT_COLLECTED in levels)
    said += [f"{fmt.STALE} stale"] * (STALE in levels)
    said += [f"{fmt.IMPLAUSIBLE} implausible"] * (IMPLAUSIBLE in levels)
    return "  ".join(said)


def name_of(pod: Pod) -> str:
    """`rank 7`, `rank 0-7`, `launcher`, or the pod's name."""
    if pod.role in LEADERS:
        return pod.role
    return pod.name if pod.rank is None else f"rank {seat_number(pod)}"


def line_of(source: TableSource, key: str, odd: Anomaly | None = None) -> str:
    """All that the table would say of a row, in one line; "" where it is not there."""
    index = source.index(key)
    if index is None:
        return ""
    words = []
    for column, cell in zip(source.columns, source.cells(index), strict=True):
        if text := cell.text.strip():
            words.append(text if column.id in _BARE else f"{column.title} {text}".strip())
    if odd is not None:
        words.append(odd.phrase)
    return " · ".join(words)


_BARE = frozenset({"rank", "pod", "node", "phase", "bars", "memory", "temperature", "power"})
"""Columns whose cells speak for themselves."""


def _cell(row: MemberRow, label: str, odd: dict[str, list[Anomaly]]) -> GridCell:
    pod = row.pod
    if found := odd.get(pod.uid):
        return GridCell(pod.uid, label, found[0].glyph, tone=found[0].tone)
    state = pod_glyph(pod)
    if pod.phase != "Running" or not pod.gpus_allocated:
        return GridCell(pod.uid, label, state.text, tone=state.tone)
    return GridCell(pod.uid, label, level=_level(row.duty))


def _level(duty: Reading) -> int:
    if isinstance(duty, Absent):
        return ABSENT_LEVELS.get(duty, NOT_COLLECTED)
    return fmt.level(duty)


Found = list[tuple[str, Anomaly]]


def _state_of(pod: Pod) -> Anomaly:
    words, tone = pod_words(pod)
    weight = {"bad": 3.0, "warn": 2.0, "info": 1.0}.get(tone, 0.0)
    return Anomaly("state", pod_glyph(pod).text, tone, words, weight)


def _other_state(ranks: Sequence[MemberRow]) -> Found:
    """Ranks that do something else than most."""
    words = Counter(pod_words(row.pod)[0] for row in ranks)
    if len(words) < 2:
        return []
    usual = words.most_common(1)[0][0]
    return [(row.pod.uid, _state_of(row.pod)) for row in ranks if pod_words(row.pod)[0] != usual]


def _slow(ranks: Sequence[MemberRow]) -> Found:
    """Ranks that need longer than the others before the gradients are exchanged."""
    return [
        (row.pod.uid, Anomaly("slow", SLOW, "warn", training_panel.slow_text(found), found.excess))
        for row in ranks
        if row.compute is not None and (found := row.compute.straggler) is not None
    ]


def _low_duty(ranks: Sequence[MemberRow]) -> Found:
    """Ranks whose cards do much less than the others'."""
    holding = [row for row in ranks if row.pod.gpus_allocated and row.pod.phase == "Running"]
    known = [duty for row in holding if not isinstance(duty := row.duty, Absent)]
    usual = median(known) if len(known) >= FEWEST else None
    found: Found = []
    for row in holding:
        duty = row.duty
        if usual is not None and not isinstance(duty, Absent) and lags(duty, usual):
            phrase = f"duty {duty:.0%}, median {usual:.0%}"
            found.append((row.pod.uid, Anomaly("duty", LAGS, "warn", phrase, -duty)))
    return found


def _restarted(ranks: Sequence[MemberRow]) -> Found:
    """Ranks that restarted more often than most."""
    usual = median(row.pod.restarts for row in ranks) if ranks else 0
    return [
        (
            row.pod.uid,
            Anomaly("again", AGAIN, "warn", f"restarted {_times(row.pod.restarts)}", row.pod.restarts),
        )
        for row in ranks
        if row.pod.restarts > usual
    ]


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _other_card(ranks: Sequence[MemberRow]) -> Found:
    """Ranks on another model of card than most."""
    return _unlike(ranks, "card", CARD, _model, lambda own, usual: f"on {own}, most on {usual}")


def _model(row: MemberRow) -> str:
    node = row.store.by_key(Kind.NODE, row.pod.node) if row.pod.node and row.pod.gpus else None
    named = str(getattr(node, "gpu_model", "")) or next((card.model for card in row.gpus if card.model), "")
    return cards.short_model(named)


def _unlike(
    ranks: Sequence[MemberRow],
    way: str,
    glyph: str,
    value: Callable[[MemberRow], str],
    say: Callable[[str, str], str],
) -> Found:
    values = {row.pod.uid: value(row) for row in ranks}
    counts = Counter(value for value in values.values() if value)
    if len(counts) < 2:
        return []
    usual = counts.most_common(1)[0][0]
    return [
        (uid, Anomaly(way, glyph, "warn", say(own, usual)))
        for uid, own in values.items()
        if own and own != usual
    ]


def _alone(ranks: Sequence[MemberRow]) -> Found:
    """Ranks that have a node for themselves where most share theirs: their words go over the network."""
    on = Counter(row.pod.node for row in ranks if row.pod.node)
    if not on:
        return []
    usual = Counter(on.values()).most_common(1)[0][0]
    if usual < 2:
        return []
    return [
        (
            row.pod.uid,
            Anomaly("apart", APART, "info", f"alone on {row.pod.node}, most nodes hold {usual}"),
        )
        for row in ranks
        if row.pod.node and on[row.pod.node] == 1
    ]


def _sentence(odd: dict[str, list[Anomaly]], names: dict[str, str]) -> str:
    """For each way the worst rank, and how many more are odd that way."""
    phrases = []
    for way in _WAYS:
        found = [(uid, item) for uid, all_ways in odd.items() for item in all_ways if item.way == way]
        if found:
            uid, worst = max(found, key=lambda pair: pair[1].weight)
            more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
            phrases.append(f"{names[uid]} {worst.phrase}{more}")
    return " · ".join(phrases[:_MOST_PHRASES])
