"""Whom a user acts as goes out with every request that a session sends, whatever it is sent for."""

import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from cockpit.clock import ManualClock
from cockpit.connection import reader
from cockpit.errors import CockpitError, NoConnection, Refused
from cockpit.kube.access import can, read_rules
from cockpit.kube.discovery import discover
from cockpit.kube.exec import Command, open_exec
from cockpit.kube.forward import open_tunnel
from cockpit.kube.resource import PODS
from cockpit.kube.session import ApiSession, SessionOptions, open_session
from cockpit.kube.transport import headers_for
from cockpit.model.acts_as import ActsAs
from tests.unit.kube.builders import FakeServer, kubeconfig, refuse, reply

ROOT = Path(__file__).resolve().parents[3]
USER = {
    "token": "t-1",
    "as": "viewer",
    "as-uid": "u-7",
    "as-groups": ["readers"],
    "as-user-extra": {"example.org/team%": ["llm"]},
}
SENT = {
    "Impersonate-User": "viewer",
    "Impersonate-Uid": "u-7",
    "Impersonate-Group": "readers",
    "Impersonate-Extra-example.org%2Fteam%25": "llm",
}
POD = "/api/v1/namespaces/team-a/pods/p"


async def _stream(session: ApiSession) -> None:
    async with session.stream("/api/v1/pods", query=(("watch", "true"),)) as answer:
        assert answer.status == 404


async def _log(session: ApiSession) -> None:
    async with session.stream(f"{POD}/log", query=(("follow", "true"),)):
        return


async def _exec(session: ApiSession) -> None:
    async with open_exec(session, Command(namespace="team-a", pod="p", container="c", words=("true",))):
        return


async def _forward(session: ApiSession) -> None:
    async with open_tunnel(session, "team-a", "p", 80):
        return


WAYS: dict[str, Callable[[ApiSession], Awaitable[object]]] = {
    "version": lambda session: session.version(5.0),
    "discovery": discover,
    "list": lambda session: session.request("GET", "/api/v1/pods", query=(("limit", "500"),)),
    "watch": _stream,
    "logs": _log,
    "access review": lambda session: can(session, "delete", PODS, namespace="team-a"),
    "rules review": lambda session: read_rules(session, "team-a"),
    "dry run": lambda session: session.request("DELETE", POD, query=(("dryRun", "All"),)),
    "create": lambda session: session.request("POST", "/api/v1/namespaces/team-a/pods", body={}),
    "patch": lambda session: session.request("PATCH", POD, body={}),
    "delete": lambda session: session.request("DELETE", POD),
    "eviction": lambda session: session.request("POST", f"{POD}/eviction", body={}),
    "a metrics server through the proxy": lambda session: reader(session)(
        "/api/v1/namespaces/m/services/prometheus:9090/proxy/api/v1/query", (), 1000
    ),
    "exec": _exec,
    "port-forward": _forward,
}


async def acting(server: FakeServer, folder: Path, clock: ManualClock) -> ApiSession:
    path = kubeconfig(folder, server.url, user=USER)
    return await open_session(SessionOptions(kubeconfig=path, read_only=False), clock)


@pytest.mark.parametrize("way", WAYS)
async def test_no_request_leaves_without_it(
    server: FakeServer, tmp_path: Path, clock: ManualClock, way: str
) -> None:
    session = await acting(server, tmp_path, clock)
    server.seen.clear()
    with suppress(CockpitError):  # the fake server knows none of these: what it was asked is looked at
        await WAYS[way](session)
    await session.close()
    assert server.seen
    for seen in server.seen:
        assert SENT.items() <= seen.headers.items(), seen.path
        assert seen.headers["Authorization"] == "Bearer t-1"


async def test_a_renewed_login_acts_as_the_same(
    server: FakeServer, tmp_path: Path, clock: ManualClock
) -> None:
    (tmp_path / "token").write_text("old")
    path = kubeconfig(tmp_path, server.url, user={**USER, "token": None, "tokenFile": "token"})
    session = await open_session(SessionOptions(kubeconfig=path), clock)
    server.on("/api/v1/pods", refuse(401, "Unauthorized", "Unauthorized"), reply({}))
    (tmp_path / "token").write_text("new")
    assert (await session.request("GET", "/api/v1/pods")).ok
    await session.close()
    sent = [one.headers for one in server.seen if one.path == "/api/v1/pods"]
    assert [one["Authorization"] for one in sent] == ["Bearer old", "Bearer new"]
    assert all(SENT.items() <= one.items() for one in sent)


def test_every_client_of_an_api_server_is_made_with_the_headers_of_the_session() -> None:
    """A client made elsewhere would send the rights of the user behind."""
    makers = {
        path.name: re.findall(r"ClientSession\(.*?headers=([^\n]*?),\n", path.read_text(), re.DOTALL)
        for path in (ROOT / "cockpit" / "kube").rglob("*.py")
        if "ClientSession(" in path.read_text() and path.name != "oidc.py"  # another server
    }
    assert makers == {"session.py": ["self._headers()"], "sockets.py": ["headers"]}


def test_groups_and_values_go_out_one_by_one() -> None:
    acts_as = ActsAs("ann", "", ("a", "b"), (("k", ("x", "y")),))
    sent = headers_for("me", "https://one", acts_as)
    assert sent.getall("Impersonate-Group") == ["a", "b"]
    assert sent.getall("Impersonate-Extra-k") == ["x", "y"]
    assert "Impersonate-Uid" not in sent


@pytest.mark.parametrize(
    "message",
    [
        'users "viewer" is forbidden: User "me" cannot impersonate resource "users" in API group ""'
        " at the cluster scope",
        'namespaces is forbidden: User "me" cannot impersonate-on:user-info:list resource "namespaces"'
        ' in API group "" at the cluster scope',
    ],
)
async def test_who_may_not_act_as_another_is_told_before_anything_else(
    server: FakeServer, tmp_path: Path, clock: ManualClock, message: str
) -> None:
    server.on("/version", refuse(403, "Forbidden", message))
    with pytest.raises(NoConnection) as caught:
        await acting(server, tmp_path, clock)
    assert not isinstance(caught.value, Refused)
    assert caught.value.sentence.startswith("me may not act as viewer (403): ")
    assert "remove `as` from user me" in caught.value.sentence


async def test_compression_can_be_off(server: FakeServer, tmp_path: Path, clock: ManualClock) -> None:
    assert "Accept-Encoding" not in headers_for("me", "https://one.example")
    off = headers_for("me", "https://one.example", is_compressed=False)
    assert off["Accept-Encoding"] == "identity"
    path = kubeconfig(tmp_path, server.url, {"disable-compression": True})
    session = await open_session(SessionOptions(kubeconfig=path), clock)
    await session.close()
    assert server.seen[0].headers["Accept-Encoding"] == "identity"
