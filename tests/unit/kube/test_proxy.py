"""requests through the session: in a thread, under the same rules."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from cockpit.kube.proxy import BASE_URL, http_session
from cockpit.kube.session import Session
from tests.unit.kube.builders import FakeServer, reply, stream

SERVICE = "/api/v1/namespaces/monitoring/services/http:prometheus:9090/proxy"
QUERY = f"{SERVICE}/api/v1/query"


async def in_thread(session: Session, use: Callable[[Any], Any]) -> Any:
    http = http_session(session, asyncio.get_running_loop())
    return await asyncio.to_thread(use, http)


async def test_a_query_goes_through_the_api_server(server: FakeServer, session: Session) -> None:
    server.on(QUERY, reply({"status": "success"}))
    answer = await in_thread(
        session, lambda http: http.get(BASE_URL + QUERY, params={"query": 'up{job="a b"}'})
    )
    assert answer.json() == {"status": "success"}
    assert (answer.status_code, answer.ok) == (200, True)
    assert server.queries(QUERY) == [{"query": 'up{job="a b"}'}]
    assert server.seen[-1].headers["Authorization"] == "Bearer t-1"


async def test_failures_have_a_reason(server: FakeServer, session: Session) -> None:
    answer = await in_thread(session, lambda http: http.get(BASE_URL + QUERY))
    assert (answer.status_code, answer.ok) == (404, False)
    assert "could not find" in answer.reason


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", QUERY), ("GET", f"{SERVICE}/api/v1/admin/tsdb/snapshot"), ("GET", "/api/v1/secrets")],
)
async def test_read_only_holds(server: FakeServer, session: Session, method: str, path: str) -> None:
    import requests

    def ask(http: Any) -> None:
        http.request(method, BASE_URL + path)

    with pytest.raises(requests.exceptions.ConnectionError):
        await in_thread(session, ask)
    assert server.seen == []


async def test_other_hosts_are_not_asked(session: Session) -> None:
    import requests

    with pytest.raises(requests.exceptions.InvalidSchema):
        await in_thread(session, lambda http: http.get("http://elsewhere/x"))


async def test_bodies_are_not_sent(session: Session) -> None:
    import requests

    with pytest.raises(requests.exceptions.InvalidSchema, match="without a body"):
        await in_thread(session, lambda http: http.post(BASE_URL + QUERY, data={"a": "b"}))


async def test_a_slow_answer_is_a_failure(server: FakeServer, session: Session) -> None:
    import requests

    server.on(QUERY, stream(stays=True))
    with pytest.raises(requests.exceptions.ConnectionError, match="does not answer in time"):
        await in_thread(session, lambda http: http.get(BASE_URL + QUERY, timeout=0.05))


async def test_the_answer_arrives_in_the_asking_thread(server: FakeServer, session: Session) -> None:
    server.on(QUERY, reply({}))
    names: list[str] = []

    def ask(http: Any) -> None:
        http.get(BASE_URL + QUERY)
        names.append(threading.current_thread().name)

    await in_thread(session, ask)
    assert names != [threading.main_thread().name]
