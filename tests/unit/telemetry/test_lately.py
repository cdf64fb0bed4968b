"""The minutes before the first round: which series of a card counts, and what is played to the store."""

from typing import Any

from cockpit.model.batch import Batch
from cockpit.model.gpu import Gpu, Mark
from cockpit.model.quantity import Absent
from cockpit.model.record import Kind
from cockpit.store.store import Store
from cockpit.telemetry.lately import STEP_SECONDS, Stretch, replayed, stretches

NOW = 10_000.0
CARD = Gpu(
    uuid="g", node="n", index=0, duty_ratio=0.0, temperature_celsius=60.0, throttle=8, sampled_seconds=NOW,
    pod_namespace="team", pod_name="a", mark=Mark.SURE,
)  # fmt: skip


def row(values: list[Any], name: str = "DCGM_FI_DEV_GPU_UTIL", **labels: str) -> dict[str, Any]:
    return {
        "metric": {"__name__": name, "UUID": "g", "namespace": "team", "pod": "a", **labels},
        "values": values,
    }


def every(count: int, value: str, gap_after: int = 99) -> list[list[Any]]:
    """So many points up to now; after one of them five are missing."""
    first = NOW - count * STEP_SECONDS
    return [[first + at * STEP_SECONDS, value] for at in range(count) if not gap_after < at <= gap_after + 5]


def test_units_are_the_series_own_and_the_most_trusted_series_counts() -> None:
    rows = [row(every(3, "0.9"), "DCGM_FI_PROF_GR_ENGINE_ACTIVE"), row(every(3, "40"))]
    ((one,),) = stretches(rows).values()
    assert (one.namespace, one.pod, {duty for _, duty in one.points}) == ("team", "a", {0.4})


def test_before_a_gap_or_an_odd_value_nothing_is_known() -> None:
    ((one,),) = stretches([row(every(20, "0", gap_after=9))]).values()
    assert len(one.points) == 5
    odd = every(20, "0")
    odd[12][1] = "900"
    ((one,),) = stretches([row(odd)]).values()
    assert len(one.points) == 7
    assert stretches([row([]), row([["x", "1"], [1.0]]), {}, {"metric": 1}, 7]).get("g", ()) == ()


def test_only_what_the_present_holder_did_is_played_and_no_more_than_duty() -> None:
    known = {"g": (Stretch("team", "other", ((NOW - 60, 0.9),)), Stretch("team", "a", ((NOW - 30, 0.2),)))}
    ((was,),) = replayed([CARD], known)
    assert (was.duty_ratio, was.sampled_seconds) == (0.2, NOW - 30)
    assert was.temperature_celsius is Absent.NOT_COLLECTED
    assert was.throttle is None


def test_the_store_knows_a_mean_and_a_rest_as_if_it_had_watched() -> None:
    store = Store()
    points = tuple((NOW - at * STEP_SECONDS, 0.0) for at in range(22, 0, -1))
    for moment in replayed([CARD], {"g": (Stretch("team", "a", points),)}):
        store.apply(Batch(kind=Kind.GPU, changed=tuple(moment)))
    store.apply(Batch(kind=Kind.GPU, changed=(CARD,)))
    mean = store.duty_mean("g")
    assert mean is not None
    assert (mean.since_seconds, mean.seconds, mean.ratio) == (NOW - 660, NOW, 0.0)
    assert store.idle_since("g") == NOW - 660
    card: Any = store.get(Kind.GPU, "g")
    assert card == CARD, "what is now is what stands"
