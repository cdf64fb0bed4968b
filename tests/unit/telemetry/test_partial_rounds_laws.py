"""Any fleet reads the same in a whole round, in a lean one and from pages: compared with the oracle."""

import asyncio
from collections.abc import Mapping

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.model.gpu import Gpu, Mark
from cockpit.telemetry.cards.round import gpus as read_samples
from cockpit.telemetry.sample import Sample, from_prometheus
from cockpit.telemetry.source import PrometheusSource, places_of
from tests.reliability.figures import whole
from tests.unit.telemetry.builders import COCKPIT, NOW, A, C, Row, card_a, card_b, family
from tests.unit.telemetry.oracle import gpus
from tests.unit.telemetry.small_prometheus import CLUSTER, NAMES, SmallPrometheus, both, read, truth

SOURCES = {"A": (A, card_a), "B": (A, card_b), "C": (C, card_b)}


FLEETS = whole(3000, 300)
"""How many are drawn; drawing one costs more than reading it."""

ODD = {
    "GPU_UTIL": (4_100.0, -1.0),
    "GPU_UTIL_RATIO": (2.5, 37.0, 3.0),
    "duty_ratio": (2.5,),
    "FB_USED": (954.0 * 2**20, 90_000.0),
    "FB_USED_BYTES": (954.0 * 2**40, 2.0**37),
    "memory_used_bytes": (2.0**37,),
    "FB_CAPACITY_BYTES": (2.0**60, 0.0),
    "FB_FREE": (2.0**40,),
    "GPU_TEMP": (0.0, 3_000.0),
    "power_watts": (1e6,),
    "XID_ERRORS": (79.0, 1e12, -3.0),
    "gpu_xid": (48.0,),
}
"""Values of which some are no card's, by the end of a name."""


STANDS_STILL = ("FB_FREE", "FB_CAPACITY_BYTES", "FB_USED")
"""What memory in all is made of: a lean round has what the whole one before it told."""


MOVES = tuple(end for end in ODD if end not in STANDS_STILL)


def told(
    values: Mapping[str, float], duties: Mapping[str, float], odd: tuple[str, float]
) -> dict[str, float]:
    """A family with its duty, and the value of names with this end."""
    end, value = odd
    found = {name: duties.get(name, of) for name, of in values.items()}
    return {name: value if end and name.endswith(end) else of for name, of in found.items()}


@st.composite
def odds(draw: st.DrawFn, ends: tuple[str, ...]) -> tuple[str, float]:
    """An end of names and a value that most cards cannot have; ("", 0) for none."""
    end = draw(st.sampled_from(["", "", *ends]))
    return end, draw(st.sampled_from(ODD[end])) if end else 0.0


@st.composite
def fleets(draw: st.DrawFn) -> tuple[list[Row], list[Row]]:
    """Two readings of the same cards: generations, cloned UUIDs, MIG, hosts that name no node, sharing; a
    second exporter, two scrapes of a page, impossible values; times that differ, or that nobody tells."""
    first: list[Row] = []
    later: list[Row] = []
    for name in NAMES:
        values, labels_of = SOURCES[draw(st.sampled_from(sorted(SOURCES)))]
        is_hidden = draw(st.booleans())  # an exporter without NODE_NAME tells its own pod
        has_own = draw(st.integers(0, 3)) == 0  # our exporter is there as well
        is_doubled = draw(st.integers(0, 7)) == 0  # a page is scraped whole: all its cards, or none
        ages = {of: draw(st.sampled_from([4.0, 7.0, 30.0, 200.0, None])) for of in ("dcgm", "own", "again")}
        times = {of: None if age is None else NOW - age for of, age in ages.items()}
        for index in range(draw(st.integers(0, 2))):
            labels = labels_of(index, name)
            host = "hostname" if "hostname" in labels else "Hostname"
            if draw(st.booleans()):
                labels["UUID"] = f"GPU-clone-{index}"
            own = {"uuid": labels["UUID"], "gpu": str(index), "node": name}
            if is_hidden:
                labels |= {host: "dcgm-x7", "instance": f"{name}:9400"}
            if draw(st.booleans()):
                labels |= {"GPU_I_ID": "3", "GPU_I_PROFILE": "1g.10gb"}
                own |= {"mig_instance": "3", "mig_profile": "1g.10gb"}
            still = draw(odds(STANDS_STILL))
            for reading in (first, later):
                # of two scrapes a round asks the server for the larger value: they agree here
                odd = still if still[0] else draw(odds(MOVES))
                engine = {"DCGM_FI_PROF_GR_ENGINE_ACTIVE": draw(st.sampled_from([0.0, 0.25, 1.0]))}
                share = draw(st.sampled_from([0.0, 0.5, 1.0]))
                duties = dict.fromkeys(("DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_GPU_UTIL_RATIO"), share)
                of = {**told(values, duties, odd), **engine}
                holders = st.lists(st.sampled_from(["", "p", "q"]), min_size=1, max_size=2, unique=True)
                for pod in draw(holders):
                    holder = {"exported_pod": pod, "exported_namespace": "team-a"}
                    reading.extend(sampled(family(of, {**labels, **holder}), times["dcgm"]))
                    if is_doubled:
                        again = family(of, {**labels, **holder, "replica": "b"})
                        reading.extend(sampled(again, times["again"]))
                if has_own:
                    ours = told(COCKPIT, {"cockpit_gpu_duty_ratio": share}, odd)
                    reading.extend(sampled(family(ours, own), times["own"]))
    return first, later


def sampled(rows: list[Row], at_seconds: float | None) -> list[Row]:
    return [{**one, "sampled": at_seconds} for one in rows]


def differences(found: dict[str, Gpu], right: dict[str, Gpu]) -> list[str]:
    """What differs, a line a field."""
    odd = [f"{uuid} is on one side only" for uuid in sorted(found.keys() ^ right.keys())]
    for uuid in sorted(found.keys() & right.keys()):
        one, other = msgspec.structs.asdict(found[uuid]), msgspec.structs.asdict(right[uuid])
        odd += [f"{uuid} {name}: {of} for {other[name]}" for name, of in one.items() if of != other[name]]
    return odd


@st.composite
def other_makers(draw: st.DrawFn) -> list[Row]:
    """Cards of Intel's (in tiles) and AMD's (a clock for each of its parts): some have no number, some are
    cloned."""
    rows: list[Row] = []
    for name in NAMES:
        at = draw(st.sampled_from([NOW - 4.0, NOW - 30.0, NOW - 200.0, None]))
        if draw(st.booleans()):
            uuid = draw(st.sampled_from(["GPU-max", f"GPU-max-{name}"]))
            labels = {"uuid": uuid, "dev_name": "Max", "node": name}
            for tile in range(draw(st.integers(0, 2))):
                used = {"xpum_memory_used_bytes": draw(st.sampled_from([1e9, 2e9]))}
                rows += sampled(family(used, {**labels, "sub_dev": str(tile)}), at)
            for part in draw(st.lists(st.sampled_from(["gpu", "memory"]), unique=True)):
                rows += sampled(family({"xpum_temperature_celsius": 51.0}, {**labels, "location": part}), at)
        if draw(st.booleans()):
            labels = {"serial_number": draw(st.sampled_from(["S", f"S-{name}"])), "node": name}
            labels |= draw(st.sampled_from([{}, {"gpu_id": "0"}]))
            labels |= draw(
                st.sampled_from([{}, {"pod": "p", "namespace": "n"}, {"pod": "", "namespace": ""}])
            )
            told = {"gpu_used_vram": 8_000.0, "gpu_gfx_activity": 50.0, "gpu_junction_temperature": 60.0}
            rows += sampled(family(told, labels), at)
            for clock in ("system", "memory"):
                rows += sampled(family({"gpu_clock": 1_700.0}, {**labels, "clock_type": clock}), at)
    return rows


@settings(deadline=None, max_examples=FLEETS)
@given(fleets(), other_makers())
def test_every_way_reads_any_fleet_as_the_oracle_does(
    rows: tuple[list[Row], list[Row]], others: list[Row]
) -> None:
    first, later = ([*one, *others] for one in rows)
    lean, whole, _, _ = asyncio.run(both(first, later))
    right = truth(later)
    assert not differences(whole, right)
    assert not differences(lean, right)
    small = asyncio.run(read(PrometheusSource(SmallPrometheus(later))))
    assert not differences(small, right)
    assert {card.mark for card in lean.values()} <= set(Mark)


@settings(deadline=None, max_examples=FLEETS)
@given(fleets(), other_makers(), st.booleans())
def test_samples_that_tell_their_own_times_are_read_as_the_oracle_does(
    rows: tuple[list[Row], list[Row]], others: list[Row], is_turned: bool
) -> None:
    """As the pages of exporters do: a line may have a time stamp of its own."""
    told = [one for row in (*rows[1], *others) for one in page_of(row)]
    if is_turned:
        told.reverse()
    places = places_of(CLUSTER)
    found = {card.uuid: card for card in read_samples(told, places)}
    assert not differences(found, {card.uuid: card for card in gpus(told, places)})


def page_of(row: Row) -> list[Sample]:
    """The row as an exporter's own page tells it."""
    at = row.get("sampled", NOW - 7.0)
    return [one._replace(sampled_seconds=at) for one in from_prometheus([row])]
