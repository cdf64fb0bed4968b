"""Telemetry through the API server: only a missing right is called denied."""

from typing import Any

import pytest

from cockpit.clock import ManualClock
from cockpit.connection import server_reads
from cockpit.kube.answer import ApiAnswer
from cockpit.model.batch import Phase
from cockpit.model.metrics_server import NO_METRICS_SERVER
from cockpit.telemetry.discovery import find_prometheus
from cockpit.telemetry.exporters import ExporterPages
from cockpit.telemetry.faults import TelemetryError

JSON, HTML = "application/json", "text/html"
ANSWERS = [
    (ApiAnswer(401, JSON, b'{"kind": "Status", "message": "Unauthorized"}'), Phase.NOT_LOGGED_IN),
    (ApiAnswer(403, JSON, b'{"kind": "Status", "message": "forbidden"}'), Phase.DENIED),
    (ApiAnswer(500, JSON, b"{}"), Phase.BACKING_OFF),
    (ApiAnswer(502, HTML, b"<html>bad gateway</html>"), Phase.BACKING_OFF),
    (ApiAnswer(503, "", b""), Phase.BACKING_OFF),
    (ApiAnswer(200, HTML, b"<html>sign in</html>"), Phase.BACKING_OFF),
]


class Session:
    """Gives one answer to every request."""

    def __init__(self, answer: ApiAnswer) -> None:
        self.answer = answer
        self.pulse: Any = type("Pulse", (), {"returned": None})()

    async def request(self, _method: str, _path: str, **_more: Any) -> ApiAnswer:
        return self.answer


@pytest.mark.parametrize(("answer", "phase"), ANSWERS)
async def test_search_for_a_prometheus_fails_in_the_phase_of_the_answer(
    answer: ApiAnswer, phase: Phase
) -> None:
    session: Any = Session(answer)
    reads = server_reads(session)

    def open_target(_target: object) -> Any:
        raise AssertionError("nothing was found that could be asked")

    with pytest.raises(TelemetryError) as failed:
        await find_prometheus(NO_METRICS_SERVER, reads.list_services, open_target)
    assert failed.value.phase is phase


@pytest.mark.parametrize(("answer", "phase"), ANSWERS[:-1])
async def test_search_for_exporters_fails_in_the_phase_of_the_answer(answer: ApiAnswer, phase: Phase) -> None:
    session: Any = Session(answer)
    pages = ExporterPages(server_reads(session).read_page, ManualClock())
    with pytest.raises(TelemetryError) as failed:
        await pages.find()
    assert failed.value.phase is phase
