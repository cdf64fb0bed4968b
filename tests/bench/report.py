"""What a bench run found, as aligned text and as JSON: the runs, and the ratios against what is wanted."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from tests.bench.contest import SCROLLED, Result

MIB = 1 << 20


@dataclass(frozen=True)
class Goal:
    """One ratio: `ours` and `theirs` are medians over the runs. A ratio above `wanted` or equal is met."""

    name: str
    ours: float | None
    theirs: float | None
    wanted: float | None = None  # None: printed for comparison, nothing is promised
    is_at_most: bool = False  # the ratio must not exceed `wanted`, and is ours / theirs

    @property
    def ratio(self) -> float | None:
        if not self.ours or not self.theirs:
            return None
        return self.ours / self.theirs if self.is_at_most else self.theirs / self.ours

    @property
    def verdict(self) -> str:
        if self.ratio is None:
            return "not run"
        if self.wanted is None:
            return ""
        met = self.ratio <= self.wanted if self.is_at_most else self.ratio >= self.wanted
        return "met" if met else "missed"


def middle(results: Iterable[Result], contestant: str, moment: str) -> float | None:
    """Median over the good runs of a contestant; `moment` is a field of Result or a key of its details."""
    values = [value for value in _values(results, contestant, moment) if value is not None]
    return median(values) if values else None


def worst(results: Iterable[Result], contestant: str, moment: str) -> float | None:
    values = [value for value in _values(results, contestant, moment) if value is not None]
    return max(values, default=None)


def _values(results: Iterable[Result], contestant: str, moment: str) -> list[float | None]:
    return [
        getattr(one, moment) if hasattr(one, moment) else one.details.get(moment)
        for one in results
        if one.contestant == contestant and not one.problem
    ]


def goals(results: Sequence[Result]) -> list[Goal]:
    """The ratios that are wanted of the cockpit, all from this run."""

    def of(contestant: str, moment: str) -> float | None:
        return middle(results, contestant, moment)

    usable = of("cockpit", "all_seconds")
    return [
        Goal("all usable, sooner than kubectl ends", usable, of("kubectl", "all_seconds"), 4.0),
        Goal(
            "all usable, sooner than kubectl --chunk-size=0 ends",
            usable,
            of("kubectl --chunk-size=0", "all_seconds"),
        ),
        Goal("all usable, sooner than the stock models", usable, of("models", "all_seconds")),
        Goal(
            "all usable, to a bare read (request to end)",
            usable,
            of("bare", "from_request_seconds"),
            1.6,
            is_at_most=True,
        ),
        Goal(
            "all usable, to a bare read (process to end)",
            usable,
            of("bare", "all_seconds"),
            is_at_most=True,
        ),
        Goal(
            "all usable while keys are pressed, to a bare read (process to end)",
            of(SCROLLED, "all_seconds"),
            of("bare", "all_seconds"),
            is_at_most=True,
        ),
        Goal("memory, less than kubectl", of("cockpit", "peak_bytes"), of("kubectl", "peak_bytes"), 20.0),
        Goal("memory, less than the stock models", of("cockpit", "peak_bytes"), of("models", "peak_bytes")),
        Goal(
            "full screen, sooner than kubectl's first line",
            of("cockpit", "first_seconds"),
            of("kubectl", "first_seconds"),
            20.0,
        ),
    ]


def runs_table(results: Sequence[Result]) -> list[str]:
    """One line for each run, in the order in which they ran."""
    rows = [("contestant", "first s", "all s", "peak MiB", "cpu s", "yardstick s", "load", "notes")]
    rows += [
        (
            one.contestant,
            _seconds(one.first_seconds),
            _seconds(one.all_seconds),
            f"{one.peak_bytes / MIB:,.0f}",
            f"{one.cpu_seconds:.1f}",
            f"{one.yardstick_seconds:.3f}",
            f"{one.load_average:.1f}",
            _notes(one),
        )
        for one in results
    ]
    return aligned(rows)


def _notes(one: Result) -> str:
    found = one.details
    said: list[str] = [one.problem] if one.problem else []
    if "rows_on_screen" in found:
        said.append(f"first frame {_seconds(found['first_frame_seconds'])} s, {found['rows_on_screen']} rows")
        if found["keys_while_loading"]:
            said.append(f"keys while loading {_keys(found, 'key')}")
        said.append(f"keys then {_keys(found, 'key_quiet')}")
        if found["keys_lost"]:
            said.append(f"{found['keys_lost']} keys lost")
    elif "from_request_seconds" in found:
        said.append(f"from request {_seconds(found['from_request_seconds'])} s")
    if found.get("bytes"):
        said.append(f"{found['bytes'] / 1e6:,.0f} MB read")
    return "; ".join(said)


def _keys(found: Mapping[str, Any], name: str) -> str:
    """`worst 40 ms, p99 31 ms, p50 8 ms`."""
    return ", ".join(f"{what} {_ms(found[f'{name}_{what}_seconds'])}" for what in ("worst", "p99", "p50"))


def goals_table(results: Sequence[Result]) -> list[str]:
    """One line for each ratio."""
    rows = [("wanted", "cockpit", "other", "ratio", "goal", "")]
    for one in goals(results):
        unit = _mib if one.name.startswith("memory") else _seconds
        rows.append(
            (
                one.name,
                unit(one.ours),
                unit(one.theirs),
                "-" if one.ratio is None else f"{one.ratio:.2f}x",
                "" if one.wanted is None else f"{'<=' if one.is_at_most else '>='} {one.wanted:g}x",
                one.verdict,
            )
        )
    return aligned(rows)


def tree(results: Sequence[Result], about: Mapping[str, Any]) -> dict[str, Any]:
    """Everything, for the JSON file. Seconds and bytes."""
    return {
        "about": dict(about),
        "runs": [one.tree() for one in results],
        "goals": [{**asdict(one), "ratio": one.ratio, "verdict": one.verdict} for one in goals(results)],
    }


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns padded to their widest cell: text to the left, numbers to the right."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines: list[str] = []
    for row in rows:
        cells = [
            cell.ljust(width) if at in (0, len(row) - 1) else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value * 1000:.0f} ms"


def _mib(value: float | None) -> str:
    return "-" if value is None else f"{value / MIB:,.0f} MiB"
