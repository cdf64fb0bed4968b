"""A day of simulated scrapes, with everything on a node that comes and goes, leaves nothing behind."""

from pathlib import Path

import pytest

from tests.reliability.figures import whole
from tests.unit.exporter.fake_kubelet import FakeKubelet
from tests.unit.exporter.standin import Box

pytestmark = pytest.mark.waits

SCRAPES_AN_HOUR = whole(60, 20)


def _hour(box: Box, kubelet: FakeKubelet, number: int) -> dict[str, int]:
    """Other processes, pods and instances each hour; a card is lost in every third and its mode changes."""
    slices = [f"mig 1 {slot} {slot + 1 + number % 3} 0 1g.10gb 9728" for slot in range(1 + number % 3)]
    lost = ["fail nvmlDeviceGetHandleByIndex_v2 2 15"] if number % 3 == 1 else []
    refused = [f"fail nvmlDeviceGetPowerUsage 2 {999 if number % 2 else 4}"]
    processes = [f"process 0 compute {1000 * number + one} 100 -1" for one in range(5)]
    box.write("gpus 3", *slices, *lost, *refused, *processes, f"xid 0 {31 + number % 2} {number + 1}")
    del kubelet.listed.pods[:]
    kubelet.holds(f"team/trainer-{number}", "GPU-00000000-1111-2222-3333-444444444444")
    box.ask("xid")
    found: dict[str, int] = box.ask("rounds", count=SCRAPES_AN_HOUR, advance=3600 / SCRAPES_AN_HOUR)
    return found


def test_a_day_of_scrapes_leaks_nothing(box: Box, tmp_path: Path) -> None:
    kubelet = FakeKubelet(tmp_path)
    try:
        box.start(pod_resources=str(kubelet.socket))
        hours = [_hour(box, kubelet, number) for number in range(24)]
        # six hours hold every kind of hour; the least of them has no answer that is still being finished
        early, late = hours[:6], hours[-6:]
        growth = {what: min(one[what] for one in late) - min(one[what] for one in early) for what in early[0]}
        assert growth["objects"] < 50, f"18 hours and {18 * SCRAPES_AN_HOUR} scrapes"
        assert {what: growth[what] for what in growth if what != "objects"} == {
            "descriptors": 0,
            "threads": 0,
            "lent": 0,
        }
    finally:
        kubelet.close()
