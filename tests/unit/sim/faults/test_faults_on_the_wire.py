"""Every fault on the wire, through both ways in: the proxy before a server, and the middleware inside it."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from cockpit.clock import ManualClock
from cockpit.sim.faults.embedded import FaultLayer
from cockpit.sim.faults.script import Script
from tests.adapters.faults.proxy import FaultProxy

PODS = "/api/v1/pods"
EVENTS = 6
USERS = {"tok-viewer": "viewer", "tok-admin": "admin"}


def pod(number: int) -> dict[str, Any]:
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": f"p{number}", "labels": {"a": "b"}, "resourceVersion": str(number)},
        "spec": {"containers": [{"name": "c", "ports": [{"containerPort": 80}]}]},
        "status": {"phase": "Running"},
    }


class Backend:
    """A small API: a list of pods, a watch of six events, an echo of what was sent."""

    def __init__(self) -> None:
        self.requests: list[str] = []

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(f"{request.method} {request.path}")
        if request.path == "/exec":
            return await self._exec(request)
        if request.query.get("watch"):
            return await self._watch(request)
        if request.method == "POST":
            return web.json_response({"sent": (await request.read()).decode()}, status=201)
        if request.path == "/nix":
            raise web.HTTPNotFound(text="no such thing")
        items = [pod(number) for number in range(EVENTS)]
        return web.json_response({"kind": "PodList", "items": items, "asked": dict(request.query)})

    async def _exec(self, request: web.Request) -> web.StreamResponse:
        if not request.headers.get("Authorization"):
            return web.Response(status=403)
        socket = web.WebSocketResponse(protocols=("v5.channel.k8s.io",))
        await socket.prepare(request)
        async for message in socket:
            await socket.send_bytes(request.query["prefix"].encode() + message.data)
            if message.data == b"end":
                await socket.close(code=4000)
        return socket

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for number in range(EVENTS):
            await response.write(json.dumps({"type": "ADDED", "object": pod(number)}).encode() + b"\n")
        return response


class Way:
    """One way in: where to ask, and how to set the rules."""

    def __init__(self, url: str, backend: Backend, clock: ManualClock, put: Callable[[Script], None]) -> None:
        self.url = url
        self.backend = backend
        self.clock = clock
        self.put = put
        self.session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10.0))

    def script(self, do: Mapping[str, Any], seed: int = 1, **more: Any) -> Script:
        one = Script.read([{"do": do, **more}], self.clock, seed)
        self.put(one)
        return one

    async def get(self, path: str = PODS, **query: str) -> tuple[int, bytes, Mapping[str, str]]:
        async with self.session.get(self.url + path, params=query) as answer:
            return answer.status, await answer.read(), answer.headers

    async def tree(self, path: str = PODS, **query: str) -> Any:
        return json.loads((await self.get(path, **query))[1])

    async def events(self) -> list[Any]:
        return [json.loads(line) for line in (await self.get(watch="1"))[1].splitlines()]


async def _served(app: web.Application) -> tuple[web.AppRunner, str]:
    runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner, f"http://127.0.0.1:{runner.addresses[0][1]}"


@pytest.fixture(params=["proxy", "embedded"])
async def way(request: pytest.FixtureRequest) -> AsyncIterator[Way]:
    clock, backend = ManualClock(), Backend()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", backend.handle)
    layer = FaultLayer(
        clock, user_of=lambda one: USERS.get(one.headers.get("Authorization", "").removeprefix("Bearer "), "")
    )
    app.middlewares.append(layer.middleware)
    runner, url = await _served(app)
    proxy = FaultProxy(url, None, clock=clock, users=USERS)

    def put(script: Script) -> None:
        if request.param == "proxy":
            proxy.choose = script.choose
        else:
            layer.choose = script.choose

    async with proxy:
        one = Way(proxy.url if request.param == "proxy" else url, backend, clock, put)
        yield one
        await one.session.close()
    await runner.cleanup()


async def test_without_a_fault_everything_is_as_it_was(way: Way) -> None:
    way.script({"drop": True}, match={"path": "/elsewhere"})
    assert len((await way.tree())["items"]) == EVENTS
    assert len(await way.events()) == EVENTS
    assert (await way.get("/nix"))[0] == 404


async def test_a_delay_passes_in_the_clocks_time(way: Way) -> None:
    way.clock.cluster_pace = lambda: 1000.0  # type: ignore[method-assign]
    way.script({"delay": "20s"})
    async with asyncio.timeout(5.0):
        assert (await way.get())[0] == 200


async def test_dropped_and_lost_answers(way: Way) -> None:
    way.script({"drop": True}, count=1)
    with pytest.raises(aiohttp.ClientError):
        await way.session.post(way.url + PODS, data=b"x")
    assert way.backend.requests == []
    way.script({"lose_answer": True}, count=1)
    with pytest.raises(aiohttp.ClientError):
        await way.session.post(way.url + PODS, data=b"x")
    assert way.backend.requests == [f"POST {PODS}"]


async def test_a_write_that_is_only_delayed_arrives_whole(way: Way) -> None:
    way.script({"delay": 0})
    async with way.session.post(way.url + PODS, data=b"body" * 1000) as answer:
        assert (answer.status, (await answer.json())["sent"]) == (201, "body" * 1000)


async def test_a_token_that_runs_out_is_refused_for_its_user(way: Way) -> None:
    way.script({"expire_token": True}, match={"user": "viewer"}, start="1m")

    async def status(token: str) -> int:
        async with way.session.get(way.url + PODS, headers={"Authorization": f"Bearer {token}"}) as answer:
            return answer.status

    assert await status("tok-viewer") == 200
    way.clock.advance(60.0)
    assert [await status(token) for token in ("tok-viewer", "tok-admin")] == [401, 200]


@pytest.mark.parametrize("do", [{"delay": 0}, {"cut": 3}, None], ids=["delay", "cut", "none"])
async def test_a_socket_passes_untouched(way: Way, do: dict[str, Any] | None) -> None:
    one = way.script(do or {"drop": True}, match={} if do else {"path": "/elsewhere"})
    url, headers = f"{way.url}/exec?prefix=a%20", {"Authorization": "Bearer tok-admin"}
    async with way.session.ws_connect(
        url, headers=headers, protocols=("v4.channel.k8s.io", "v5.channel.k8s.io")
    ) as socket:
        assert socket.protocol == "v5.channel.k8s.io"
        await socket.send_bytes(b"x" * 100_000)
        assert (await socket.receive()).data == b"a " + b"x" * 100_000
        await socket.send_bytes(b"end")
        assert (await socket.receive()).data == b"a end"
        assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE
    assert socket.close_code == 4000
    assert len(one.fired) == (1 if do else 0)


async def test_a_socket_that_is_refused_or_dropped(way: Way) -> None:
    way.script({"delay": 0})
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await way.session.ws_connect(f"{way.url}/exec")
    assert refused.value.status == 403
    way.script({"status": 503})
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await way.session.ws_connect(f"{way.url}/exec", headers={"Authorization": "x"})
    assert refused.value.status == 503
