"""Opening a session: what works, and one clear sentence for everything that does not."""

import asyncio
import datetime
import json
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from cockpit.clock import ManualClock, SystemClock
from cockpit.errors import NoConnection
from cockpit.kube import exec_plugin
from cockpit.kube.session import Session, SessionOptions, open_session
from tests.contract.conftest import Connect, needs
from tests.contract.fault_proxy import FaultProxy
from tests.contract.faults import html, refuse, status
from tests.contract.mirror import eventually
from tests.contract.server import Capability, Server, write_kubeconfig

WriteUser = Callable[[dict[str, Any]], str]


@pytest.fixture
def as_user(server: Server, tmp_path: Path) -> WriteUser:
    """Writes a kubeconfig for the real address and CA with the given user entry; answers its path."""
    return lambda user: write_kubeconfig(tmp_path / "kubeconfig", server.url, user, ca=server.ca_file)


async def _open(path: str, context: str | None = None) -> Session:
    return await open_session(SessionOptions(kubeconfig=path, context=context), SystemClock())


async def _sentence(path: str, context: str | None = None) -> str:
    """What a failing open says; it is one line and no traceback."""
    with pytest.raises(NoConnection) as caught:
        session = await _open(path, context)
        await session.close()
    assert "\n" not in caught.value.sentence
    assert "Traceback" not in caught.value.sentence
    assert caught.value.exit_code == 2
    return caught.value.sentence


async def test_a_good_kubeconfig_opens_and_tells_who_and_where(server: Server) -> None:
    session = await _open(str(server.kubeconfig), server.contexts["admin"])
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
    session = await _open(path)
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
    sentence = await _sentence(str(server.kubeconfig), "prod-eu")
    assert "'prod-eu'" in sentence
    assert server.contexts["viewer"] in sentence


async def test_a_missing_kubeconfig_names_the_file_and_the_option(tmp_path: Path) -> None:
    sentence = await _sentence(str(tmp_path / "nowhere"))
    assert str(tmp_path / "nowhere") in sentence
    assert "--kubeconfig" in sentence


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("contexts: [", "not YAML"),
        ("just a line", "no mapping"),
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
    sentence = await _sentence(str(path))
    assert str(path) in sentence
    assert word in sentence


async def test_nobody_listening_is_said_with_the_address(server: Server, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    path = write_kubeconfig(tmp_path / "k", f"https://127.0.0.1:{port}", {"token": "x"}, ca=server.ca_file)
    sentence = await _sentence(path)
    assert f"127.0.0.1:{port}" in sentence
    assert "cannot be reached" in sentence


async def test_a_connection_dropped_before_the_answer(
    server: Server, proxy: FaultProxy, tmp_path: Path
) -> None:
    proxy.plan(refuse(), times=None)
    path = write_kubeconfig(tmp_path / "k", proxy.url, {"token": server.tokens["admin"]})
    with pytest.raises(NoConnection) as caught:
        await _open(path)
    assert getattr(caught.value, "can_retry", False), "trying again later may work"


async def test_a_wrong_authority_is_refused_before_any_token_is_sent(
    server: Server, tmp_path: Path, own_certificate: tuple[Path, Path]
) -> None:
    async with FaultProxy(server.url, server.ca_file, certificate=own_certificate) as liar:
        path = write_kubeconfig(
            tmp_path / "k", liar.url, {"token": server.tokens["admin"]}, ca=server.ca_file
        )
        sentence = await _sentence(path)
        assert "not trusted" in sentence
        assert liar.seen == []


async def test_tls_with_the_right_authority_works_through_a_proxy(
    server: Server, tmp_path: Path, own_certificate: tuple[Path, Path]
) -> None:
    async with FaultProxy(server.url, server.ca_file, certificate=own_certificate) as honest:
        path = write_kubeconfig(
            tmp_path / "k", honest.url, {"token": server.tokens["admin"]}, ca=own_certificate[0]
        )
        session = await _open(path)
        assert (await session.request("GET", "/api/v1/nodes")).ok
        assert not session.is_insecure
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
        session = await _open(path)
        assert session.is_insecure
        await session.close()


@pytest.mark.parametrize("token", ["expired", "nonsense"])
async def test_a_dead_token_is_said_with_user_and_remedy(
    server: Server, as_user: WriteUser, token: str
) -> None:
    secret = server.tokens["expired"] if token == "expired" else "no-such-token"
    sentence = await _sentence(as_user({"token": secret}))
    assert "401" in sentence
    assert "log in again" in sentence
    assert secret not in sentence


async def test_a_token_file_is_read(server: Server, as_user: WriteUser, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(server.tokens["viewer"] + "\n")
    session = await _open(as_user({"tokenFile": str(tmp_path / "token")}))
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
    session = await _open(as_user({"client-certificate": str(certificate), "client-key": str(key)}))
    assert (await session.request("GET", "/api/v1/nodes")).ok
    await session.close()


@needs(Capability.CERTIFICATES)
async def test_a_client_key_that_is_no_key_is_said(
    server: Server, as_user: WriteUser, tmp_path: Path
) -> None:
    assert server.certificate is not None
    (tmp_path / "key").write_text("not a key")
    sentence = await _sentence(
        as_user({"client-certificate": str(server.certificate[0]), "client-key": str(tmp_path / "key")})
    )
    assert "key" in sentence


# ---- exec plugins


def _plugin(tmp_path: Path, body: str, **more: Any) -> dict[str, Any]:
    script = tmp_path / "plugin"
    script.write_text(f"#!/bin/sh\n{body}\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    spec = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": str(script),
        "interactiveMode": "IfAvailable",
        **more,
    }
    return {"exec": spec}


def _credential(token: str, **status_fields: str) -> str:
    return json.dumps(
        {
            "apiVersion": "client.authentication.k8s.io/v1",
            "kind": "ExecCredential",
            "status": {"token": token, **status_fields},
        }
    )


async def test_an_exec_plugin_gives_the_token(server: Server, as_user: WriteUser, tmp_path: Path) -> None:
    user = _plugin(tmp_path, f"cat <<'X'\n{_credential(server.tokens['viewer'])}\nX")
    session = await _open(as_user(user))
    assert (await session.request("GET", "/api/v1/pods")).ok
    await session.close()


async def test_an_exec_plugin_has_no_terminal_and_sees_its_environment(
    server: Server, as_user: WriteUser, tmp_path: Path
) -> None:
    body = (
        f"cat > {tmp_path}/stdin\n"
        f'printf %s "$EXTRA $KUBERNETES_EXEC_INFO" > {tmp_path}/env\n'
        f"cat <<'X'\n{_credential(server.tokens['viewer'])}\nX"
    )
    session = await _open(as_user(_plugin(tmp_path, body, env=[{"name": "EXTRA", "value": "yes"}])))
    await session.close()
    assert (tmp_path / "stdin").read_bytes() == b"", "stdin is closed: cat ends at once"
    said = (tmp_path / "env").read_text()
    assert said.startswith("yes {")
    assert json.loads(said[4:])["spec"]["interactive"] is False


async def test_an_exec_plugin_runs_again_after_a_401(
    server: Server, proxy: FaultProxy, tmp_path: Path
) -> None:
    body = (
        f"echo run >> {tmp_path}/runs\n"
        f"if [ $(wc -l < {tmp_path}/runs) -eq 1 ]; then t={server.tokens['expired']}; "
        f"else t={server.tokens['viewer']}; fi\n"
        f"printf '%s' '{_credential('TOKEN')}' | sed s/TOKEN/$t/"
    )
    path = write_kubeconfig(tmp_path / "k", proxy.url, _plugin(tmp_path, body))
    session = await _open(path)
    assert (await session.request("GET", "/api/v1/pods")).ok
    assert (tmp_path / "runs").read_text() == "run\nrun\n"
    await session.close()


async def test_an_exec_plugin_that_stays_refused_is_not_run_in_a_loop(
    server: Server, as_user: WriteUser, tmp_path: Path
) -> None:
    body = f"echo run >> {tmp_path}/runs\ncat <<'X'\n{_credential(server.tokens['expired'])}\nX"
    options = SessionOptions(kubeconfig=as_user(_plugin(tmp_path, body)), check=False)
    session = await open_session(options, ManualClock())
    for _ in range(5):
        assert (await session.request("GET", "/api/v1/pods")).status == 401
    await session.close()
    assert (tmp_path / "runs").read_text().count("run") <= 2


async def test_an_exec_plugin_renews_before_its_token_ends(
    server: Server, as_user: WriteUser, tmp_path: Path
) -> None:
    clock = ManualClock()
    ends = datetime.datetime.fromtimestamp(clock.now() + 100, datetime.UTC).isoformat()
    given = _credential(server.tokens["viewer"], expirationTimestamp=ends)
    body = f"echo run >> {tmp_path}/runs\ncat <<'X'\n{given}\nX"
    session = await open_session(SessionOptions(kubeconfig=as_user(_plugin(tmp_path, body))), clock)
    clock.advance(70)
    await session.request("GET", "/version")
    assert (tmp_path / "runs").read_text().count("run") == 1
    clock.advance(15)
    await asyncio.gather(*(session.request("GET", "/version") for _ in range(5)))
    await session.close()
    assert (tmp_path / "runs").read_text().count("run") == 2, "one renewal at 80 % of its life, for all five"


async def test_an_exec_plugin_that_hangs_is_killed_with_its_children(
    as_user: WriteUser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "cockpit.kube.credentials.run_plugin",
        lambda spec, cluster: exec_plugin.run_plugin(spec, cluster, deadline_seconds=0.3),
    )
    sentence = await _sentence(as_user(_plugin(tmp_path, f"sleep 600 & echo $! > {tmp_path}/child; wait")))
    assert "did not answer" in sentence
    child = int((tmp_path / "child").read_text())
    await eventually(lambda: not _runs(child), "the plugin's child is gone")


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("echo 'no session: run aws sso login' >&2; exit 3", "aws sso login"),
        ("echo not json", "ExecCredential"),
        ("exit 7", "code 7"),
        (f"cat <<'X'\n{_credential('')}\nX", "neither a token"),
        ('echo \'{"apiVersion":"client.authentication.k8s.io/v1beta1","status":{"token":"x"}}\'', "v1beta1"),
        ("printf '\\033]52;c;aGk=\\007 bad' >&2; exit 1", "bad"),
    ],
)
async def test_an_exec_plugin_that_fails_is_named_with_what_it_said(
    as_user: WriteUser, tmp_path: Path, body: str, word: str
) -> None:
    sentence = await _sentence(as_user(_plugin(tmp_path, body)))
    assert word in sentence
    assert str(tmp_path / "plugin") in sentence
    assert sentence.isprintable()


async def test_an_exec_plugin_that_is_not_there_gives_its_hint(as_user: WriteUser, tmp_path: Path) -> None:
    spec = _plugin(tmp_path, "", installHint="get it from example.test")
    spec["exec"]["command"] = str(tmp_path / "not-there")
    assert "get it from example.test" in await _sentence(as_user(spec))


# ---- what stands in between


async def test_a_login_page_with_status_200_is_not_taken_for_a_cluster(
    server: Server, proxy: FaultProxy, tmp_path: Path
) -> None:
    proxy.plan(html(), times=None)
    sentence = await _sentence(write_kubeconfig(tmp_path / "k", proxy.url, {"token": "x"}))
    assert "does not answer like a Kubernetes API server" in sentence


async def test_a_server_error_does_not_end_an_attachment(
    server: Server, proxy: FaultProxy, tmp_path: Path
) -> None:
    """/version may fail for a moment; the streams have their own patience."""
    proxy.plan(status(503, reason="ServiceUnavailable"))
    session = await _open(write_kubeconfig(tmp_path / "k", proxy.url, {"token": server.tokens["viewer"]}))
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
