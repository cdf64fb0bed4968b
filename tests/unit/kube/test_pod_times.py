"""When a pod was bound and started, read from its JSON."""

import json

import pytest

from cockpit.errors import Refused
from cockpit.kube.pod_times import read_times, times_of
from cockpit.kube.session import ApiSession
from cockpit.model.pod_times import PodTimes
from tests.unit.kube.builders import CREATED, CREATED_SECONDS, FakeServer, refuse, stream

BOUND = {"type": "PodScheduled", "status": "True", "lastTransitionTime": CREATED}
RUNS = {"state": {"running": {"startedAt": "2026-11-01T10:00:07Z"}}}
ENDED = {"state": {"terminated": {"startedAt": "2026-11-01T10:00:09Z"}}, "restartCount": 2}


@pytest.mark.parametrize(
    ("status", "times"),
    [
        ({}, PodTimes()),
        ({"conditions": [{**BOUND, "status": "False"}]}, PodTimes()),
        ({"conditions": [BOUND]}, PodTimes(CREATED_SECONDS)),
        (
            {"conditions": [BOUND], "containerStatuses": [RUNS]},
            PodTimes(CREATED_SECONDS, CREATED_SECONDS + 7),
        ),
        ({"containerStatuses": [RUNS, ENDED]}, PodTimes(None, CREATED_SECONDS + 9, 2)),
        ({"containerStatuses": [RUNS, {"state": {"waiting": {}}}]}, PodTimes()),
        ({"containerStatuses": [{"state": {"running": {"startedAt": "yesterday"}}}]}, PodTimes()),
    ],
)
def test_moments(status: object, times: PodTimes) -> None:
    assert times_of(json.dumps({"status": status}).encode()) == times


@pytest.mark.parametrize("body", [b"", b"[]", b'{"status": 7}', b"<html>"])
def test_what_is_no_pod_is_refused(body: bytes) -> None:
    with pytest.raises(Refused, match="not what a pod looks like"):
        times_of(body)


async def test_it_is_asked_of_the_server(server: FakeServer, session: ApiSession) -> None:
    path = "/api/v1/namespaces/team-a/pods/p"
    server.on(path, stream(json.dumps({"status": {"conditions": [BOUND]}}).encode()))
    assert await read_times(session, "team-a", "p") == PodTimes(CREATED_SECONDS)
    server.on(path, refuse(404, "NotFound", 'pods "p" not found'))
    with pytest.raises(Refused, match='Pod team-a/p: pods "p" not found'):
        await read_times(session, "team-a", "p")
