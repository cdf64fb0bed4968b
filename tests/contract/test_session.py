"""Opening a session: what works, and one clear sentence for everything that does not."""

import os
import socket
from pathlib import Path

import pytest
import yaml

from cockpit.clock import ManualClock, SystemClock
from cockpit.errors import NoConnection
from cockpit.kube.session import SessionOptions, open_session
from cockpit.model.trust import Trust
from tests.adapters.faults.proxy import FaultProxy
from tests.contract.conftest import Connect, needs
from tests.contract.faults import html, refuse, status
from tests.contract.opening import WriteUser, opened, sentence_of
from tests.contract.server import Capability, Server, write_kubeconfig


async def test_a_good_kubeconfig_opens_and_tells_who_and_where(server: Server) -> None:
    session = await opened(str(server.kubeconfig), server.contexts["admin"])
    try:
        assert session.server == server.url
        assert session.context == server.contexts["admin"]
        assert session.read_only
        answer = await session.request("GET", "/version")
        assert answer.status == 200
        assert answer.json()["major"] == "1"
    finally:
        await session.close()


async def test_the_context_gives_the_namespace(server: Server, tmp_path: Path) -> None:
    path = write_kubeconfig(
        tmp_path / "k", server.url, {"token": server.tokens["viewer"]}, ca=server.ca_file, namespace="team-b"
    )
    session = await opened(path)
    assert session.namespace == "team-b"
    await session.close()


@pytest.mark.parametrize("role", ["admin", "engineer", "viewer", "nobody"])
async def test_a_token_is_the_user_that_the_server_says(server: Server, connect: Connect, role: str) -> None:
    session = await connect(role)
    answer = await session.request(
        "POST",
        "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        body={"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"},
    )
    assert answer.json()["status"]["userInfo"]["username"] == server.usernames[role]


async def test_an_unknown_context_names_the_known_ones(server: Server) -> None:
    sentence = await sentence_of(str(server.kubeconfig), "prod-eu")
    assert "'prod-eu'" in sentence
    assert server.contexts["viewer"] in sentence


async def test_a_missing_kubeconfig_names_the_file_and_the_option(tmp_path: Path) -> None:
    sentence = await sentence_of(str(tmp_path / "nowhere"))
    assert str(tmp_path / "nowhere") in sentence
    assert "--kubeconfig" in sentence


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("contexts: [", "not YAML"),
        ("just a line", "not a mapping"),
        ("apiVersion: v1\nkind: Config\n", "no contexts"),
        ("contexts: [{name: a, context: {cluster: b, user: c}}]\ncurrent-context: a\n", "'b'"),
        (
            "contexts: [{name: a, context: {cluster: b}}]\ncurrent-context: a\n"
            "clusters: [{name: b, cluster: {server: nonsense}}]\n",
            "'nonsense'",
        ),
    ],
)
async def test_a_broken_kubeconfig_is_named_with_what_is_wrong(tmp_path: Path, text: str, word: str) -> None:
    path = tmp_path / "broken"
    path.write_text(text)
    sentence = await sentence_of(str(path))
    assert str(path) in sentence
    assert word in sentence


async def test_nobody_listening_is_said_with_the_address(server: Server, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    path = write_kubeconfig(tmp_path / "k", f"https://127.0.0.1:{port}", {"token": "x"}, ca=server.ca_file)
    sentence = await sentence_of(path)
    assert f"127.0.0.1:{port}" in sentence
    assert "cannot be reached" in sentence


async def test_a_connection_dropped_before_the_answer(
    server: Server, proxy: FaultProxy, tmp_path: Path
) -> None:
    proxy.plan(refuse(), times=None)
    path = write_kubeconfig(tmp_path / "k", proxy.url, {"token": server.tokens["admin"]})
    with pytest.raises(NoConnection) as caught:
        await opened(path)
    assert getattr(caught.value, "can_retry", False), "trying again later may work"


async def test_a_wrong_authority_is_refused_before_any_token_is_sent(
    server: Server, tmp_path: Path, own_certificate: tuple[Path, Path]
) -> None:
    async with FaultProxy(server.url, server.ca_file, certificate=own_certificate) as liar:
        path = write_kubeconfig(
            tmp_path / "k", liar.url, {"token": server.tokens["admin"]}, ca=server.ca_file
        )
        sentence = await sentence_of(path)
        assert "not trusted" in sentence
        assert liar.seen == []


async def test_tls_with_the_right_authority_works_through_a_proxy(
    server: Server, tmp_path: Path, own_certificate: tuple[Path, Path]
) -> None:
    async with FaultProxy(server.url, server.ca_file, certificate=own_certificate) as honest:
        path = write_kubeconfig(
            tmp_path / "k", honest.url, {"token": server.tokens["admin"]}, ca=own_certificate[0]
        )
        session = await opened(path)
        assert (await session.request("GET", "/api/v1/nodes")).ok
        assert session.trust is Trust.VERIFIED
        await session.close()


async def test_unverified_tls_is_possible_and_marked(
    server: Server, tmp_path: Path, own_certificate: tuple[Path, Path]
) -> None:
    async with FaultProxy(server.url, server.ca_file, certificate=own_certificate) as stranger:
        path = write_kubeconfig(
            tmp_path / "k",
            stranger.url,
            {"token": server.tokens["viewer"]},
            cluster={"insecure-skip-tls-verify": True},
        )
        session = await opened(path)
        assert session.trust is Trust.UNVERIFIED
        await session.close()


@pytest.mark.parametrize("token", ["expired", "nonsense"])
async def test_a_dead_token_is_said_with_user_and_remedy(
    server: Server, as_user: WriteUser, token: str
) -> None:
    secret = server.tokens["expired"] if token == "expired" else "no-such-token"
    sentence = await sentence_of(as_user({"token": secret}))
    assert "401" in sentence
    assert "log in again" in sentence
    assert secret not in sentence


async def test_a_token_file_is_read(server: Server, as_user: WriteUser, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(server.tokens["viewer"] + "\n")
    session = await opened(as_user({"tokenFile": str(tmp_path / "token")}))
    assert (await session.request("GET", "/api/v1/pods")).ok
    await session.close()


async def test_a_rotated_token_file_is_taken_within_61_seconds(
    server: Server, as_user: WriteUser, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text(server.tokens["viewer"])
    clock = ManualClock()
    session = await open_session(SessionOptions(kubeconfig=as_user({"tokenFile": str(file)})), clock)
    path = "/api/v1/serviceaccounts"
    assert (await session.request("GET", path)).status == 403, "the viewer may not"
    file.write_text(server.tokens["admin"])
    clock.advance(61.0)
    answer = await session.request("GET", path)
    assert answer.ok, "61 s later the file was read again"
    await session.close()


@needs(Capability.CERTIFICATES)
async def test_a_client_certificate_is_enough(server: Server, as_user: WriteUser) -> None:
    assert server.certificate is not None
    certificate, key = server.certificate
    session = await opened(as_user({"client-certificate": str(certificate), "client-key": str(key)}))
    assert (await session.request("GET", "/api/v1/nodes")).ok
    await session.close()


@needs(Capability.CERTIFICATES)
async def test_a_client_key_that_is_no_key_is_said(
    server: Server, as_user: WriteUser, tmp_path: Path
) -> None:
    assert server.certificate is not None
    (tmp_path / "key").write_text("not a key")
    sentence = await sentence_of(
        as_user({"client-certificate": str(server.certificate[0]), "client-key": str(tmp_path / "key")})
    )
    assert "key" in sentence


# ---- what stands in between


async def test_a_login_page_with_status_200_is_not_taken_for_a_cluster(
    server: Server, proxy: FaultProxy, tmp_path: Path
) -> None:
    proxy.plan(html(), times=None)
    sentence = await sentence_of(write_kubeconfig(tmp_path / "k", proxy.url, {"token": "x"}))
    assert "does not answer like a Kubernetes API server" in sentence


async def test_a_server_error_does_not_end_an_attachment(
    server: Server, proxy: FaultProxy, tmp_path: Path
) -> None:
    """/version may fail for a moment; the streams have their own patience."""
    proxy.plan(status(503, reason="ServiceUnavailable"))
    session = await opened(write_kubeconfig(tmp_path / "k", proxy.url, {"token": server.tokens["viewer"]}))
    assert (await session.request("GET", "/version")).ok
    await session.close()


async def test_several_kubeconfig_files_are_merged(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, rest = tmp_path / "a", tmp_path / "b"
    write_kubeconfig(first, server.url, {"token": server.tokens["viewer"]}, ca=server.ca_file)
    tree = yaml.safe_load(first.read_text())
    rest.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", "users": tree.pop("users")}))
    first.write_text(yaml.safe_dump(tree))
    monkeypatch.setenv("KUBECONFIG", f"{first}{os.pathsep}{rest}")
    session = await open_session(SessionOptions(), SystemClock())
    assert (await session.request("GET", "/api/v1/pods")).ok
    await session.close()
