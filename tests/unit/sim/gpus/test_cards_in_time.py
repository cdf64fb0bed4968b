"""Cards: names from nodes, physics on a grid, loads as functions of time."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.sim.actors.common.gpu_load import GRID_SECONDS, Load, LoadPattern, duty_at, load_of, memory_at
from cockpit.sim.actors.gpus.models import MODELS, model_of
from cockpit.sim.actors.gpus.physics import Faults, State, Throttle, advance, rest
from cockpit.sim.devices import cards_of, device_ids, gpu_uuid
from cockpit.sim.port import Tree

START = 1_790_000_000.0
H100 = MODELS["NVIDIA-H100-80GB-HBM3"]


def node(name: str = "gpu-0", labels: dict[str, str] | None = None, **capacity: str) -> Tree:
    resources = {f"nvidia.com/{key.replace('_', '-')}": value for key, value in capacity.items()}
    return {"metadata": {"name": name, "labels": labels or {}}, "status": {"capacity": resources}}


def test_a_node_without_gpus_has_no_cards_and_no_devices() -> None:
    assert cards_of(node()) == ()
    assert device_ids(node()) == {}


def test_whole_cards_are_named_by_node_and_index() -> None:
    tree = node(gpu="2", labels={"nvidia.com/gpu.product": "Tesla-T4"})
    assert [card.uuid for card in cards_of(tree)] == [gpu_uuid("gpu-0", 0), gpu_uuid("gpu-0", 1)]
    assert device_ids(tree) == {"nvidia.com/gpu": (gpu_uuid("gpu-0", 0), gpu_uuid("gpu-0", 1))}
    assert gpu_uuid("gpu-0", 0) != gpu_uuid("gpu-1", 0)


def test_shared_cards_have_one_id_for_each_replica_and_cards_are_used_in_turn() -> None:
    tree = node(gpu="4", labels={"nvidia.com/gpu.replicas": "2", "nvidia.com/gpu.count": "2"})
    first, second = gpu_uuid("gpu-0", 0), gpu_uuid("gpu-0", 1)
    assert len(cards_of(tree)) == 2
    assert device_ids(tree)["nvidia.com/gpu"] == (
        f"{first}::0", f"{second}::0", f"{first}::1", f"{second}::1",
    )  # fmt: skip


def test_mig_instances_are_dealt_to_the_cards() -> None:
    tree = node(labels={"nvidia.com/gpu.count": "2"}, mig_1g_10gb="0")
    tree["status"]["capacity"] = {"nvidia.com/mig-1g.10gb": "3", "nvidia.com/mig-3g.40gb": "1"}
    cards = cards_of(tree)
    assert [[slot.profile for slot in card.slots] for card in cards] == [
        ["1g.10gb", "1g.10gb"],
        ["1g.10gb", "3g.40gb"],
    ]
    ids = device_ids(tree)
    assert len(ids["nvidia.com/mig-1g.10gb"]) == 3
    assert ids["nvidia.com/mig-3g.40gb"] == (cards[1].slots[1].uuid,)


@given(
    st.lists(st.floats(0, 400), min_size=1, max_size=8),
    st.sampled_from(sorted(LoadPattern)),
    st.sampled_from(sorted(MODELS)),
)
def test_a_reading_does_not_depend_on_how_often_the_card_was_asked(
    gaps: list[float], pattern: LoadPattern, product: str
) -> None:
    load = load_of({"cockpit.dev/gpu-load": pattern.value}, "a/b", START)
    model = MODELS[product]

    def asked(at: float) -> float:
        return duty_at(load, at)

    often = rest(model, START)
    at = START
    for gap in gaps:
        at += gap
        often = advance(model, often, asked, Faults(), at)
    while often.at_seconds + 200 * GRID_SECONDS < at:
        pytest.fail("the grid was not followed")
    once = rest(model, START)
    for until in _hops(START, at):
        once = advance(model, once, asked, Faults(), until)
    assert once == often


def _hops(start: float, end: float) -> list[float]:
    """Steps short enough that none is cut."""
    points = [start]
    while points[-1] < end:
        points.append(min(end, points[-1] + 900.0))
    return points[1:]


@given(st.sampled_from(sorted(LoadPattern)), st.integers(0, 20_000))
def test_duty_and_memory_stay_within_their_bounds(pattern: LoadPattern, seconds: int) -> None:
    load = load_of({"cockpit.dev/gpu-load": pattern.value}, "a/b", START)
    assert 0.0 <= duty_at(load, START + seconds) <= 1.0
    assert 0 <= memory_at(load, START + seconds, 1_000) <= 1_000
    assert duty_at(load, START - 1) == 0.0


def history(faults: Faults, seconds: float) -> list[State]:
    load = Load(seed="x", since_seconds=START, pattern=LoadPattern.STEADY, mean_ratio=1.0)
    states = [rest(H100, START)]
    while states[-1].at_seconds < START + seconds:
        at = states[-1].at_seconds + GRID_SECONDS
        states.append(advance(H100, states[-1], lambda now: duty_at(load, now), faults, at))
    return states


def test_a_busy_card_warms_up_slowly_and_settles_below_its_limit() -> None:
    states = history(Faults(), 900)
    celsius = [state.temperature_celsius for state in states]
    assert all(later >= earlier for earlier, later in pairwise(celsius))
    assert celsius[12] < celsius[-1] - 2  # after a minute it is still on its way
    assert H100.slowdown_celsius - 15 < celsius[-1] < H100.slowdown_celsius
    assert states[-1].power_watts == pytest.approx(H100.cap_watts, rel=0.01)
    assert states[-1].throttle == Throttle.POWER_CAP


def test_a_card_in_a_hot_rack_throttles_and_gives_less() -> None:
    states = history(Faults(heat_celsius=25), 1_800)
    throttled = [state for state in states if state.throttle & Throttle.HW_THERMAL]
    assert throttled
    assert all(state.sm_clock_hertz < H100.sm_clock_hertz for state in throttled)
    assert max(state.temperature_celsius for state in states) < H100.shutdown_celsius


def test_an_idle_card_is_cool_and_says_so() -> None:
    state = advance(H100, rest(H100, START), lambda at: 0.0, Faults(), START + 600)
    assert (state.power_watts, state.throttle) == (H100.idle_watts, Throttle.GPU_IDLE)
    assert state.energy_joules == pytest.approx(600 * H100.idle_watts)


def test_an_unknown_product_keeps_its_name() -> None:
    assert model_of("NVIDIA-B300-SXM6").name == "NVIDIA B300 SXM6"
    assert model_of("Tesla-T4-SHARED") is MODELS["Tesla-T4"]
    assert model_of("NVIDIA-H100-80GB-HBM3-MIG-1g.10gb") is H100


@pytest.mark.parametrize("text", ["training:1.5", "dancing", "training:many", ""])
def test_a_load_that_cannot_be_read_is_training(text: str) -> None:
    assert load_of({"cockpit.dev/gpu-load": text}, "a", START).pattern is LoadPattern.TRAINING
    assert load_of({"cockpit.dev/gpu-load": text}, "a", START).mean_ratio == 0.93
