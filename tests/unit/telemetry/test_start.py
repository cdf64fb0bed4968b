"""From nothing found to polling, and looking again."""

from collections.abc import Sequence

import pytest
import requests

from cockpit.clock import ManualClock
from cockpit.model.batch import Batch, Phase
from cockpit.telemetry.discovery import Service, Target
from cockpit.telemetry.start import open_target, run_telemetry
from tests.unit.telemetry.builders import NOW, SmallCluster


class EnoughError(Exception):
    """Ends an endless loop in a test."""


async def test_without_a_prometheus_the_status_says_so_and_it_looks_again() -> None:
    seen: list[Batch] = []
    pauses: list[float] = []
    asked = 0

    async def no_services() -> Sequence[Service]:
        nonlocal asked
        asked += 1
        return ()

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 6:
            raise EnoughError

    with pytest.raises(EnoughError):
        await run_telemetry(
            proxied_http=requests.Session,
            list_services=no_services,
            cluster=SmallCluster(),
            sink=seen.append,
            clock=ManualClock(NOW),
            sleep=sleep,
        )
    assert pauses == [15.0, 30.0, 60.0, 120.0, 240.0, 300.0]
    assert asked == 6
    status = seen[-1].status
    assert status is not None
    assert status.phase is Phase.ABSENT
    assert "set a Prometheus URL" in status.message
    assert status.retry_seconds == NOW + 300


def test_a_proxied_target_uses_the_proxied_session() -> None:
    made: list[requests.Session] = []

    def proxied() -> requests.Session:
        made.append(requests.Session())
        return made[-1]

    open_target(Target("http://cluster.local/x", "x", is_proxied=True), proxied).close()
    assert len(made) == 1
    open_target(Target("http://prom:9090", "y", is_proxied=False), proxied).close()
    assert len(made) == 1
