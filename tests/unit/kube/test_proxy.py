"""What telemetry asks through the API server: under the session's rules, cancelled at once."""

import asyncio

import pytest

from cockpit.connection import reader
from cockpit.errors import NoConnection, Refused
from cockpit.kube.session import ApiSession
from tests.unit.kube.builders import FakeServer, reply, stream

SERVICE = "/api/v1/namespaces/monitoring/services/http:prometheus:9090/proxy"
QUERY = f"{SERVICE}/api/v1/query"


async def test_a_query_goes_through_the_api_server(server: FakeServer, session: ApiSession) -> None:
    server.on(QUERY, reply({"status": "success"}))
    answer = await reader(session)(QUERY, (("query", 'up{job="a b"}'),), 1_000)
    assert (answer.status, answer.json()) == (200, {"status": "success"})
    assert server.queries(QUERY) == [{"query": 'up{job="a b"}'}]
    assert server.seen[-1].headers["Authorization"] == "Bearer t-1"


async def test_a_failure_is_an_answer(server: FakeServer, session: ApiSession) -> None:
    answer = await reader(session)(QUERY, (), 1_000)
    assert (answer.status, answer.ok) == (404, False)
    assert "could not find" in answer.message()


@pytest.mark.parametrize("path", [f"{SERVICE}/api/v1/admin/tsdb/snapshot", "/api/v1/secrets"])
async def test_read_only_holds(server: FakeServer, session: ApiSession, path: str) -> None:
    with pytest.raises(Refused):
        await reader(session)(path, (), 1_000)
    assert server.seen == []


async def test_a_long_answer_is_not_read_to_its_end(server: FakeServer, session: ApiSession) -> None:
    server.on(QUERY, reply({"status": "x" * 5_000}))
    with pytest.raises(NoConnection, match="longer than 1000 bytes"):
        await reader(session)(QUERY, (), 1_000)


async def test_who_stops_waiting_is_free_at_once(server: FakeServer, session: ApiSession) -> None:
    server.on(QUERY, stream(stays=True))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await reader(session)(QUERY, (), 1_000)
