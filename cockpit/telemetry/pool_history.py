"""How busy the allocated cards of a pool or of all were over the last hour: added up by Prometheus.

Where the recording rules that ship with our exporter (`deploy/chart/cockpit-exporter/files/recording-rules`)
have a series for every node, these are asked; else the same is asked of the cards' own series. Either way two
lines come back instead of one for each of 20,000 cards.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from cockpit.telemetry.history import RANGE_SECONDS, STEP_SECONDS, Line, Past, Totals, line_of, totals_of
from cockpit.telemetry.labels import EXPORTERS
from cockpit.telemetry.names import GpuMetric, names_of
from cockpit.telemetry.promql import HOST_LABELS, any_of, quote

DUTY_SUM = "node:cockpit_gpu_held_duty_ratio:sum"
DUTY_COUNT = "node:cockpit_gpu_held_duty_ratio:count"
CARDS_COUNT = "node:cockpit_gpus:count"
"""What the rules record, a series a node (label `node`)."""

NODES_EACH = 100
MOST_NODES = 500
"""Of a larger pool no history is asked for: the URL of a GET has its limits, and so has patience."""


class RangeApi(Protocol):
    """The Prometheus."""

    async def query(self, promql: str, at_seconds: float | None = None) -> list[Any]: ...
    async def query_range(
        self, promql: str, start_seconds: float, end_seconds: float, step_seconds: int
    ) -> list[Any]: ...


def recorded(nodes: Sequence[str] = ()) -> tuple[str, str]:
    """Sum and count of duty ratios of allocated cards, as the rules have them."""
    at = f"{{node=~{any_of(nodes)}}}" if nodes else ""
    return f"sum({DUTY_SUM}{at})", f"sum({DUTY_COUNT}{at})"


def recording_nodes(nodes: Sequence[str] = ()) -> str:
    """How many nodes have a recorded series."""
    return f"count({CARDS_COUNT}{{node=~{any_of(nodes)}}})" if nodes else f"count({CARDS_COUNT})"


def computed(nodes: Sequence[str] = ()) -> tuple[str, str]:
    """The same of any exporter's series, by name: names have units of their own."""
    no_exporter = quote(f"(?i).*({EXPORTERS}).*")
    allocated = (
        'exported_pod!=""',
        f'pod!="",exported_pod="",pod!~{no_exporter},container!~{no_exporter}',
        'pod_name!=""',
        'kube_pod!=""',
    )
    hosts = [f",{label}=~{any_of(nodes)}" for label in HOST_LABELS] if nodes else [""]
    names = any_of(names_of((GpuMetric.DUTY,)))
    which = " or ".join(f"{{__name__=~{names},{matches}{host}}}" for matches in allocated for host in hosts)
    return f"sum by (__name__) ({which})", f"count by (__name__) ({which})"


async def duty_line(asked: RangeApi, past: Past, end_seconds: float) -> Line:
    """The mean duty of allocated cards, a point a minute; () where unknown. Raises TelemetryError."""
    if len(past.nodes) > MOST_NODES:
        return ()
    parts = [past.nodes[at : at + NODES_EACH] for at in range(0, len(past.nodes), NODES_EACH)] or [()]
    totals: Totals = {}
    for nodes in parts:
        known = await asked.query(recording_nodes(nodes))
        is_recorded = _number(known) >= (len(nodes) or past.gpu_nodes)
        queries = recorded(nodes) if is_recorded else computed(nodes)
        start = end_seconds - RANGE_SECONDS
        sums, counts = [await asked.query_range(item, start, end_seconds, STEP_SECONDS) for item in queries]
        for place, (total, cards) in totals_of(sums, counts, end_seconds).items():
            had = totals.get(place, (0.0, 0.0))
            totals[place] = (had[0] + total, had[1] + cards)
    return line_of(totals)


def _number(rows: Sequence[Any]) -> float:
    """Of an answer of one row; 0 for none."""
    try:
        return float(rows[0]["value"][1])
    except (IndexError, KeyError, TypeError, ValueError):
        return 0.0
