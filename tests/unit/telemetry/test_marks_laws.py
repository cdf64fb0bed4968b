"""Laws of attribution, and of numbers: whatever comes in."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.model.gpu import Gpu, Mark
from cockpit.model.pod import Pod
from cockpit.model.quantity import Absent
from cockpit.telemetry.attribute import attribute
from cockpit.telemetry.cards.round import gpus
from cockpit.telemetry.detail_names import details
from cockpit.telemetry.sample import Sample
from tests.unit.telemetry.builders import (
    COCKPIT,
    A,
    C,
    pod,
)
from tests.unit.telemetry.test_marks import AMD, INTEL

# ---- laws of the join

names = st.sampled_from(["a", "b", "c", "gone", ""])


phases = st.sampled_from(["Running", "Running", "Pending", "Succeeded", "Failed"])


@st.composite
def nodes(draw: st.DrawFn) -> tuple[list[Gpu], list[Pod], list[Gpu], int]:
    """Cards as the exporter labels them, pods of the node, cards of the round before, sharers."""
    count = draw(st.integers(1, 8))

    def cards() -> list[Gpu]:
        made = []
        for index in range(count):
            who = draw(names)
            mark = (
                draw(st.sampled_from([Mark.GUESSED, Mark.SHARED]))
                if who
                else draw(st.sampled_from([Mark.UNALLOCATED, Mark.NOT_COLLECTED]))
            )
            made.append(
                Gpu(uuid=f"GPU-{index}", node="gpu-1", index=index, duty_ratio=0.5,
                    pod_namespace="team-a" if who else "", pod_name=who, mark=mark)
            )  # fmt: skip
        return made

    pods = [
        pod(name, gpus=draw(st.integers(0, 4)), phase=draw(phases))
        for name in draw(st.lists(st.sampled_from(["a", "b", "c"]), unique=True))
    ]
    return cards(), pods, (draw(st.booleans()) and cards()) or [], draw(st.sampled_from([1, 1, 4]))


@settings(deadline=None, max_examples=500)
@given(nodes())
def test_laws_of_attribution(given_: tuple[list[Gpu], list[Pod], list[Gpu], int]) -> None:
    cards, pods, before, sharers = given_
    found = attribute(cards, pods, before, sharers)
    holders = {one.name: one for one in pods if one.gpus_allocated}
    assert [one.uuid for one in found] == [one.uuid for one in cards], "no card comes or goes"
    for old, new in zip(cards, found, strict=True):
        assert (
            msgspec.structs.replace(
                new,
                pod_namespace=old.pod_namespace,
                pod_name=old.pod_name,
                container=old.container,
                mark=old.mark,
                also=old.also,
                doubts=old.doubts,
            )
            == old
        ), "numbers are not touched"
        assert bool(new.pod_name) == (new.mark in (Mark.SURE, Mark.SHARED, Mark.GUESSED))
        if new.mark is Mark.SURE:
            assert old.pod_name == new.pod_name in holders, "sure is what label and API server both say"
            assert sharers == 1
        if new.mark is Mark.SHARED:
            assert new.pod_name in holders
        if new.mark is Mark.UNALLOCATED:
            # nobody who could hold it is left without a card
            charged = sum(one.gpus_allocated for one in holders.values())
            named = sum(one.pod_name in holders for one in found)
            assert sharers > 1 or charged <= named or old.pod_name
    assert attribute(cards, pods, before, sharers) == found, "the same again"
    there = {one.name for one in pods}
    silent = [
        msgspec.structs.replace(one, pod_namespace="", pod_name="", mark=Mark.UNALLOCATED)
        if one.pod_name not in there
        else one
        for one in cards
    ]
    undoubted = [msgspec.structs.replace(one, doubts=()) for one in found]
    assert attribute(silent, pods, before, sharers) == undoubted, "a pod that is not there displaces nothing"


values = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True), st.sampled_from([2.0**47, 2.0**63, -1.0, 0.0, 1e308])
)


series = st.builds(
    Sample,
    st.sampled_from([*A, *C, *COCKPIT, *AMD, *INTEL, "cockpit_gpu_throttle", "xpum_memory_used_bytes"]),
    st.dictionaries(
        st.sampled_from(["UUID", "uuid", "gpu", "Hostname", "node", "pod", "reason", "sub_dev", "GPU_I_ID"]),
        st.sampled_from(["", "0", "1", "gpu-1", "x", "hw_thermal"]),
    ),
    values,
    st.none() | st.floats(0, 2e9),
)


@settings(deadline=None, max_examples=300)
@given(st.lists(series, max_size=40))
def test_whatever_comes_in_no_number_is_shown_that_is_none(samples: list[Sample]) -> None:
    for card in gpus(samples):
        for name in (
            "duty_ratio",
            "memory_used_bytes",
            "temperature_celsius",
            "power_watts",
            "sm_clock_hertz",
        ):
            value = getattr(card, name)
            assert isinstance(value, Absent) or 0.0 <= value < 1e18
        assert isinstance(card.duty_ratio, Absent) or card.duty_ratio <= 1.0
    details(samples)
