"""A Prometheus that answers the source's queries out of rows, and the ways in which it is read."""

import re
from typing import Any

import msgspec

from cockpit.model.gpu import Gpu
from cockpit.telemetry.cards.stamps import stamps_of
from cockpit.telemetry.faults import TelemetryError
from cockpit.telemetry.names import FAMILY_LABEL, SAMPLED_AT
from cockpit.telemetry.promql import PROBE, UNKNOWN
from cockpit.telemetry.sample import from_prometheus
from cockpit.telemetry.source import LAG_SECONDS, PrometheusSource, places_of
from tests.unit.telemetry.builders import NOW, PrometheusStub, Row, SmallCluster, node
from tests.unit.telemetry.oracle import gpus


class SmallPrometheus(PrometheusStub):
    """Evaluates the queries that the source asks, as the real one does."""

    def __init__(self, rows: list[Row] = []) -> None:  # noqa: B006 - never changed
        self.rows = rows
        self.now_seconds = NOW + LAG_SECONDS
        self.sampled_seconds = NOW - 7.0  # of rows that say nothing else (`sampled`)
        self.has_no_times = False
        self.asked: list[str] = []
        self.bytes = 0

    async def query(self, promql: str, at_seconds: float | None = None) -> list[Any]:
        if promql == PROBE:
            return [{"metric": {}, "value": [self.now_seconds, "1"]}]
        self.asked.append(promql)
        if promql == UNKNOWN:
            return []
        rows = [{"metric": one["metric"], "value": one["value"]} for one in self._rows(promql)]
        found = [msgspec.json.decode(msgspec.json.encode(one)) for one in rows]
        self.bytes += len(msgspec.json.encode(found))
        return found

    def _rows(self, promql: str) -> list[Row]:
        if "timestamp(" in promql:
            if self.has_no_times:
                raise TelemetryError("no timestamps here")
            names = re.findall(r"timestamp\((\w+)\)", promql)
            times = [one for name in names for one in stamped(self._named(name), self.sampled_seconds)]
            return _by(promql, times) if promql.startswith("max by") else times
        found = [one for part in promql.split(" or ") for one in self._part(part)]
        return [one for at, one in enumerate(found) if one not in found[:at]] if " or " in promql else found

    def _part(self, promql: str) -> list[Row]:
        match = re.search(r'(\w*)\{(\w+)=~?"([^"]*)"\}\)?(?: (>|!=) (\d+))?$', promql)
        assert match is not None
        name, label, pattern, sign, than = match.groups()
        rows = [
            one for one in self._named(name or pattern) if re.fullmatch(pattern, one["metric"].get(label, ""))
        ]
        if promql.startswith("max by"):
            rows = _by(promql, rows)
        if sign is None:
            return rows
        return [
            one
            for one in rows
            if (float(one["value"][1]) > int(than) if sign == ">" else float(one["value"][1]) != int(than))
        ]

    def _named(self, pattern: str) -> list[Row]:
        return [one for one in self.rows if re.fullmatch(pattern, one["metric"]["__name__"])]


def stamped(rows: list[Row], usual_seconds: float) -> list[Row]:
    """What `label_replace(timestamp(NAME), ...)` makes of the series; no row of those without a time."""
    found = []
    for one in rows:
        if one.get("sampled", usual_seconds) is None:
            continue
        labels = {name: of for name, of in one["metric"].items() if name != "__name__"}
        labels[FAMILY_LABEL] = one["metric"]["__name__"]
        found.append({"metric": labels, "value": [NOW, str(one.get("sampled", usual_seconds))]})
    return found


def _by(promql: str, rows: list[Row]) -> list[Row]:
    """`max by (...)`: labels that are not named go, the largest of equals stays."""
    match = re.match(r"max by \(([^)]*)\)", promql)
    assert match is not None
    labels = [one.strip() for one in match[1].split(",")]
    found: dict[tuple[tuple[str, str], ...], Row] = {}
    for row in rows:
        kept = {name: row["metric"][name] for name in labels if row["metric"].get(name)}
        key = tuple(sorted(kept.items()))
        old = found.get(key)
        if old is None or float(old["value"][1]) < float(row["value"][1]):
            found[key] = {**row, "metric": kept}
    return list(found.values())


NAMES = ("gpu-1", "gpu-2", "gpu-3")
CLUSTER = SmallCluster([node(name) for name in NAMES])


async def read(source: PrometheusSource) -> dict[str, Gpu]:
    return {card.uuid: card for card in (await source.read(CLUSTER, (), 0))[0]}


async def both(rows: list[Row], later: list[Row]) -> tuple[dict[str, Gpu], dict[str, Gpu], int, int]:
    """What a lean round and a whole one make of the later rows, and how many queries each asked."""
    asked = SmallPrometheus(rows)
    source = PrometheusSource(asked, many_cards=0)
    await read(source)
    asked.rows = later
    asked.asked.clear()
    lean = await read(source)
    count = len(asked.asked)
    fresh = SmallPrometheus(later)
    whole = await read(PrometheusSource(fresh, many_cards=0))
    return lean, whole, count, len(fresh.asked)


def truth(rows: list[Row]) -> dict[str, Gpu]:
    """What all labels of all series say, by the oracle."""
    times = stamped([one for one in rows if one["metric"]["__name__"] in SAMPLED_AT], NOW - 7.0)
    places = places_of(CLUSTER)
    cards = gpus(from_prometheus(rows), places, stamps_of(from_prometheus(times), places))
    return {card.uuid: card for card in cards}
