"""Sessions: credentials, the guard in the transport, failures in one sentence."""

import asyncio
import datetime
import json
import subprocess
import sys
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from cockpit.clock import ManualClock
from cockpit.errors import NoConnection, Refused
from cockpit.kube.answer import ApiAnswer
from cockpit.kube.credentials import AGAIN_SECONDS
from cockpit.kube.failures import Silent, Unreachable
from cockpit.kube.session import ApiSession, SessionOptions, open_session
from cockpit.kube.transport import proxy_for
from cockpit.model.trust import Trust
from tests.reliability.figures import Tell
from tests.unit.kube.builders import FakeServer, kubeconfig, refuse, reply, stream

PODS = "/api/v1/pods"


def options(path: str, **more: Any) -> SessionOptions:
    return SessionOptions(kubeconfig=path, **more)


async def sentence_of(path: str, clock: ManualClock, **more: Any) -> str:
    with pytest.raises(NoConnection) as caught:
        await open_session(options(path, **more), clock)
    assert "\n" not in caught.value.sentence
    return caught.value.sentence


def plugin_user(tmp_path: Path, *, expires: str | None = None) -> tuple[dict[str, Any], Path]:
    """A kubeconfig user whose plugin counts its runs: token run-1, run-2, ..."""
    count = tmp_path / "runs"
    script = tmp_path / "plugin.py"
    status = {"expirationTimestamp": expires} if expires else {}
    script.write_text(
        "import json, pathlib\n"
        f"path = pathlib.Path({str(count)!r})\n"
        "number = len(path.read_text()) + 1 if path.exists() else 1\n"
        "path.write_text('x' * number)\n"
        f"status = {status!r} | {{'token': f'run-{{number}}'}}\n"
        "print(json.dumps({'apiVersion': 'client.authentication.k8s.io/v1', 'status': status}))\n"
    )
    spec = {"apiVersion": "client.authentication.k8s.io/v1", "command": sys.executable, "args": [str(script)]}
    return {"exec": spec}, count


def without_user(path: str) -> str:
    tree = json.loads(Path(path).read_text())
    del tree["users"], tree["contexts"][0]["context"]["user"]
    Path(path).write_text(json.dumps(tree))
    return path


async def test_what_a_session_knows(server: FakeServer, session: ApiSession) -> None:
    assert (session.context, session.namespace, session.user) == ("here", "team-a", "me")
    assert session.server == server.url
    assert session.read_only
    assert session.trust is Trust.PLAIN


async def test_headers(server: FakeServer, session: ApiSession) -> None:
    server.on(PODS, reply({"ok": True}))
    answer = await session.request("GET", PODS, query=(("labelSelector", "a=b,c in (d)"), ("limit", "5")))
    assert answer.ok
    assert answer.json() == {"ok": True}
    seen = server.seen[-1]
    assert seen.headers["Authorization"] == "Bearer t-1"
    assert seen.headers["User-Agent"].startswith("gpu-cockpit/")
    assert seen.query == {"labelSelector": "a=b,c in (d)", "limit": "5"}


async def test_bodies_are_json(server: FakeServer, session: ApiSession) -> None:
    session.unlock()
    path = "/api/v1/namespaces/team-a/pods/p"
    server.on(path, reply({}, Audit_Id="au-1"))
    answer = await session.request("PATCH", path, body={"a": 1}, content_type="application/merge-patch+json")
    assert json.loads(server.seen[-1].body) == {"a": 1}
    assert server.seen[-1].headers["Content-Type"] == "application/merge-patch+json"
    assert answer.audit_id == "au-1"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_read_only_holds_in_the_transport(server: FakeServer, session: ApiSession, method: str) -> None:
    with pytest.raises(Refused, match="Read-only"):
        await session.request(method, "/api/v1/namespaces/team-a/pods/p", body={})
    assert server.seen == []
    session.unlock()
    await session.request(method, "/api/v1/namespaces/team-a/pods/p", body={})
    assert len(server.seen) == 1
    session.lock()
    with pytest.raises(Refused):
        await session.request(method, "/api/v1/namespaces/team-a/pods/p", body={})
    assert len(server.seen) == 1


async def test_secrets_do_not_leave_in_any_mode(server: FakeServer, session: ApiSession) -> None:
    session.unlock()
    for method in ("GET", "POST", "DELETE"):
        with pytest.raises(Refused, match="Secrets are never"):
            await session.request(method, "/api/v1/namespaces/team-a/secrets/s")
    with pytest.raises(Refused):
        async with session.stream("/api/v1/secrets", query=(("watch", "1"),)):
            raise AssertionError("opened")
    assert server.seen == []


async def test_redirects_are_not_followed(server: FakeServer, session: ApiSession) -> None:
    server.on(PODS, reply("", 307, Location="http://elsewhere/api/v1/secrets"))
    assert (await session.request("GET", PODS)).status == 307
    assert len(server.seen) == 1


async def test_statuses_are_answers(server: FakeServer, session: ApiSession) -> None:
    server.on(PODS, refuse(403, "Forbidden", "pods is \x1b[31mforbidden\nfor you", Retry_After="7"))
    answer = await session.request("GET", PODS)
    assert (answer.status, answer.ok, answer.retry_after_seconds) == (403, False, 7.0)
    assert answer.message() == "pods is [31mforbidden for you"


@pytest.mark.parametrize(
    "answer",
    [
        ApiAnswer(502, "text/html", b"<html>"),
        ApiAnswer(500, "", b""),
        ApiAnswer(500, "application/json", b"[1]"),
    ],
)
def test_a_failure_without_a_status_says_so(answer: ApiAnswer) -> None:
    assert "without an explanation" in answer.message()


def test_an_answer_that_is_no_json() -> None:
    with pytest.raises(Refused, match="not JSON"):
        ApiAnswer(200, "text/html", b"<html>").json()


async def test_too_long_an_answer(server: FakeServer, session: ApiSession) -> None:
    server.on(PODS, reply(b"x" * 5000))
    with pytest.raises(NoConnection, match="longer than 1000 bytes"):
        await session.request("GET", PODS, limit_bytes=1000)


# ---- credentials


async def test_a_401_renews_once_and_retries(server: FakeServer, tmp_path: Path, clock: ManualClock) -> None:
    user, count = plugin_user(tmp_path)
    session = await open_session(options(kubeconfig(tmp_path, server.url, user=user), check=False), clock)
    server.on(PODS, refuse(401, "Unauthorized", "no"), reply({}))
    assert (await session.request("GET", PODS)).ok
    assert [one.headers["Authorization"] for one in server.seen] == ["Bearer run-1", "Bearer run-2"]
    assert count.read_text() == "xx"
    server.on(PODS, refuse(401, "Unauthorized", "no"))
    assert (await session.request("GET", PODS)).status == 401
    assert count.read_text() == "xx"  # a renewal that did not help is not repeated at once
    clock.advance(31)
    assert (await session.request("GET", PODS)).status == 401
    assert count.read_text() == "xxx"
    await session.close()


async def test_many_401_at_once_renew_once(server: FakeServer, tmp_path: Path, clock: ManualClock) -> None:
    user, count = plugin_user(tmp_path)
    session = await open_session(options(kubeconfig(tmp_path, server.url, user=user), check=False), clock)

    async def by_token(request: Any) -> Any:
        old = request.headers["Authorization"] == "Bearer run-1"
        return await (refuse(401, "Unauthorized", "no") if old else reply({}))(request)

    server.on(PODS, by_token)
    answers = await asyncio.gather(*(session.request("GET", PODS) for _ in range(8)))
    assert all(answer.ok for answer in answers)
    assert count.read_text() == "xx"
    await session.close()


async def test_a_token_is_renewed_before_it_ends(
    server: FakeServer, tmp_path: Path, clock: ManualClock
) -> None:
    start = clock.now()
    ends = datetime.datetime.fromtimestamp(start + 1000, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    user, count = plugin_user(tmp_path, expires=ends)
    session = await open_session(options(kubeconfig(tmp_path, server.url, user=user), check=False), clock)
    server.on(PODS, reply({}))
    await session.request("GET", PODS)
    clock.advance(790)
    await session.request("GET", PODS)
    assert count.read_text() == "x"
    clock.advance(20)
    await asyncio.gather(*(session.request("GET", PODS) for _ in range(4)))
    assert count.read_text() == "xx"
    assert server.seen[-1].headers["Authorization"] == "Bearer run-2"
    await session.close()


async def test_a_token_file_is_read_again(server: FakeServer, tmp_path: Path, clock: ManualClock) -> None:
    token = tmp_path / "token"
    token.write_text("first")
    path = kubeconfig(tmp_path, server.url, user={"tokenFile": str(token)})
    session = await open_session(options(path, check=False), clock)
    server.on(PODS, reply({}))
    await session.request("GET", PODS)
    token.write_text("second")
    clock.advance(61)
    await session.request("GET", PODS)
    assert [one.headers["Authorization"] for one in server.seen] == ["Bearer first", "Bearer second"]
    await session.close()


async def test_streams_renew_too(server: FakeServer, tmp_path: Path, clock: ManualClock) -> None:
    user, _ = plugin_user(tmp_path)
    session = await open_session(options(kubeconfig(tmp_path, server.url, user=user), check=False), clock)
    server.on(PODS, refuse(401, "Unauthorized", "no"), stream(b"abc"))
    async with session.stream(PODS) as answer:
        assert [chunk async for chunk in answer.chunks] == [b"abc"]
    assert server.seen[-1].headers["Authorization"] == "Bearer run-2"
    await session.close()


async def test_a_user_may_be_missing(server: FakeServer, tmp_path: Path, clock: ManualClock) -> None:
    session = await open_session(options(without_user(kubeconfig(tmp_path, server.url))), clock)
    assert session.user == "anonymous"
    assert "Authorization" not in server.seen[-1].headers
    await session.close()


async def test_a_failing_plugin_is_named(server: FakeServer, tmp_path: Path, clock: ManualClock) -> None:
    spec = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": sys.executable,
        "args": ["-c", "raise SystemExit(4)"],
    }
    path = kubeconfig(tmp_path, server.url, user={"exec": spec})
    assert "failed with code 4" in await sentence_of(path, clock)


async def test_missing_certificate_files_are_named(
    server: FakeServer, tmp_path: Path, clock: ManualClock
) -> None:
    path = kubeconfig(tmp_path, "https://127.0.0.1:1", {"certificate-authority": "/nowhere/ca.crt"})
    assert "/nowhere/ca.crt does not exist" in await sentence_of(path, clock)


# ---- failures of the first request


async def test_a_refused_token_is_named(server: FakeServer, tmp_path: Path, clock: ManualClock) -> None:
    server.on("/version", refuse(401, "Unauthorized", "Unauthorized"))
    sentence = await sentence_of(kubeconfig(tmp_path, server.url), clock)
    assert "rejected the credentials of me (401)" in sentence
    assert "log in again" in sentence
    assert "t-1" not in sentence


async def test_something_else_that_answers(server: FakeServer, tmp_path: Path, clock: ManualClock) -> None:
    server.on("/version", reply("<html>hello", content_type="text/html"))
    assert "does not answer like a Kubernetes API server" in await sentence_of(
        kubeconfig(tmp_path, server.url), clock
    )


async def test_nobody_listens(tmp_path: Path, clock: ManualClock) -> None:
    with pytest.raises(Unreachable) as caught:
        await open_session(options(kubeconfig(tmp_path, "https://127.0.0.1:1")), clock)
    assert "127.0.0.1:1 cannot be reached" in caught.value.sentence
    assert caught.value.can_retry


async def test_an_unknown_host(tmp_path: Path, clock: ManualClock) -> None:
    sentence = await sentence_of(kubeconfig(tmp_path, "https://no-such-host.invalid:6443"), clock)
    assert "no-such-host.invalid:6443" in sentence


async def test_unknown_context(server: FakeServer, tmp_path: Path, clock: ManualClock) -> None:
    sentence = await sentence_of(kubeconfig(tmp_path, server.url), clock, context="there")
    assert "no context 'there'" in sentence
    assert "did you mean here?" in sentence


async def test_a_silent_server(server: FakeServer, session: ApiSession) -> None:
    server.on(PODS, stream(b"x", stays=True))
    async with session.stream(PODS, idle_seconds=0.05) as answer:
        with pytest.raises(Silent, match=r"silent for 0\.05 s"):
            async for _ in answer.chunks:
                pass


async def test_a_slow_answer(server: FakeServer, session: ApiSession) -> None:
    server.on(PODS, stream(stays=True))
    with pytest.raises(Unreachable, match="does not answer in time"):
        await session.request("GET", PODS, timeout_seconds=0.05)


# ---- proxies


@pytest.mark.row(28, "proxies chosen otherwise than configured", most=0)
@pytest.mark.parametrize(
    ("server", "configured", "environment", "used"),
    [
        ("https://api:6443", None, {}, None),
        ("https://api:6443", "http://own:3128", {}, "http://own:3128"),
        ("https://api:6443", None, {"HTTPS_PROXY": "http://env:3128"}, "http://env:3128"),
        ("https://api:6443", None, {"https_proxy": "env:3128"}, "http://env:3128"),
        ("https://api:6443", "http://own:1", {"HTTPS_PROXY": "http://env:3128"}, "http://own:1"),
        ("https://api:6443", None, {"HTTPS_PROXY": "http://env:1", "NO_PROXY": "api"}, None),
        ("https://api.corp:6443", None, {"HTTPS_PROXY": "http://env:1", "NO_PROXY": ".corp"}, None),
        ("http://api:8080", None, {"HTTPS_PROXY": "http://env:1"}, None),
    ],
)
def test_which_proxy(
    monkeypatch: pytest.MonkeyPatch,
    server: str,
    configured: str | None,
    environment: dict[str, str],
    *,
    used: str | None,
    figure: Tell,
) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    figure("proxies chosen otherwise than configured", proxy_for(server, configured) != used)


def test_a_proxy_that_cannot_be_used() -> None:
    with pytest.raises(NoConnection, match="socks5 proxy cannot be used for api:6443"):
        proxy_for("https://api:6443", "socks5://x:1")


async def test_a_dead_proxy_is_named(server: FakeServer, tmp_path: Path, clock: ManualClock) -> None:
    path = kubeconfig(tmp_path, server.url, {"proxy-url": "http://127.0.0.1:1"})
    assert "proxy" in (await sentence_of(path, clock)).lower()


# ---- imports


def test_an_attachment_imports_nothing_heavy_before_it_connects() -> None:
    code = (
        "import sys\n"
        "from cockpit import attach\n"
        "from cockpit.kube import logins, resource\n"
        "heavy = {'kubernetes', 'aiohttp', 'requests', 'yaml'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


async def test_the_servers_date_tells_the_clock_what_time_it_is_there(
    server: FakeServer, session: ApiSession, clock: ManualClock
) -> None:
    date = formatdate(clock.now() + 3_600.0, usegmt=True)
    server.on("/version", reply({}, Date=date))
    assert (await session.version(5.0)).ok
    assert 3_599.0 <= clock.cluster_now() - clock.now() <= 3_601.0


@pytest.mark.parametrize(
    ("told", "known"),
    [
        ({"major": "1", "minor": "36"}, (1, 36)),
        ({"major": "1", "minor": "34+", "gitVersion": "v1.34.1-eks"}, (1, 34)),
        ({"major": "1"}, None),
        ({"major": "", "minor": ""}, None),
        (["1", "36"], None),
    ],
)
async def test_the_servers_version_is_known_where_it_tells_one(
    server: FakeServer, session: ApiSession, told: Any, known: tuple[int, int] | None
) -> None:
    assert session.server_version is None
    server.on("/version", reply(told))
    assert (await session.version(5.0)).ok
    assert session.server_version == known
    server.on("/version", refuse(503, "ServiceUnavailable", "later"))
    assert (await session.version(5.0)).status == 503
    assert session.server_version == known


async def test_a_date_from_behind_a_proxy_is_another_machines(
    server: FakeServer, session: ApiSession, clock: ManualClock
) -> None:
    path = "/api/v1/namespaces/monitoring/pods/exporter:9400/proxy/metrics"
    server.on(path, reply({}, Date=formatdate(0, usegmt=True)))
    assert (await session.request("GET", path)).ok
    assert clock.cluster_now() == clock.now()


async def test_a_probe_has_a_connection_that_no_read_takes(server: FakeServer, session: ApiSession) -> None:
    """Where the link breaks silently it is as dead as the streams; one that reads share may be newer."""
    asked: dict[str, set[int]] = {"/version": set(), PODS: set()}

    async def port(request: web.Request) -> web.Response:
        assert request.transport is not None
        asked[request.path].add(request.transport.get_extra_info("peername")[1])
        return web.json_response({})

    for path in asked:
        server.on(path, port)
    for _ in range(3):
        await session.version(5.0)
        await session.request("GET", PODS)
    assert len(asked["/version"]) == 1
    assert asked["/version"].isdisjoint(asked[PODS])


async def test_who_waits_for_a_login_goes_on_once_the_same_is_accepted_again(
    server: FakeServer, session: ApiSession
) -> None:
    server.on("/version", refuse(401, "Unauthorized", "no"), reply({}))
    waiting = asyncio.ensure_future(session.pulse.returned())
    assert (await session.version(5.0)).status == 401
    assert (await session.request("GET", PODS)).status != 401
    assert not waiting.done(), "one kind that is answered proves nothing of the others"
    assert (await session.version(5.0)).ok
    async with asyncio.timeout(20):
        await waiting


async def test_a_token_file_that_changes_late_is_read_again_soon(
    server: FakeServer, tmp_path: Path, clock: ManualClock
) -> None:
    """The server refuses the old token before the file has the new one."""
    file = tmp_path / "token"
    file.write_text("t-1")
    session = await open_session(
        options(kubeconfig(tmp_path, server.url, user={"tokenFile": str(file)})), clock
    )

    async def judge(request: web.Request) -> web.Response:
        is_new = request.headers["Authorization"] == "Bearer t-2"
        return web.json_response({}, status=200 if is_new else 401)

    server.on(PODS, judge)
    assert (await session.request("GET", PODS)).status == 401
    waiting = asyncio.ensure_future(session.pulse.returned())
    file.write_text("t-2")
    assert (await session.request("GET", PODS)).status == 401, "not with every request"
    clock.advance(AGAIN_SECONDS)
    assert (await session.request("GET", PODS)).ok
    async with asyncio.timeout(20):
        await waiting
    await session.close()
