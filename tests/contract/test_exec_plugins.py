"""Credential plugins of a kubeconfig: run without a terminal, in time, once, and renewed early."""

import asyncio
import datetime
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cockpit.clock import ManualClock
from cockpit.kube import exec_plugin
from cockpit.kube.session import SessionOptions, open_session
from tests.adapters.faults.proxy import FaultProxy
from tests.contract.mirror import eventually
from tests.contract.opening import WriteUser, opened, sentence_of
from tests.contract.server import Server, write_kubeconfig


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
    session = await opened(as_user(user))
    assert (await session.request("GET", "/api/v1/pods")).ok
    await session.close()


@pytest.fixture
def typed_keys() -> Iterator[None]:
    """Keys wait on standard input, as in a terminal that somebody types in."""
    reader, writer = os.pipe()
    os.write(writer, b"keys meant for the cockpit")
    os.close(writer)
    saved = os.dup(0)
    os.dup2(reader, 0)
    yield
    os.dup2(saved, 0)
    os.close(saved)
    os.close(reader)


async def test_an_exec_plugin_has_no_terminal_and_sees_its_environment(
    server: Server, as_user: WriteUser, tmp_path: Path, typed_keys: None
) -> None:
    body = (
        f"cat > {tmp_path}/stdin\n"
        f'printf %s "$EXTRA $KUBERNETES_EXEC_INFO" > {tmp_path}/env\n'
        f"cat <<'X'\n{_credential(server.tokens['viewer'])}\nX"
    )
    session = await opened(as_user(_plugin(tmp_path, body, env=[{"name": "EXTRA", "value": "yes"}])))
    await session.close()
    assert (tmp_path / "stdin").read_bytes() == b"", "it takes no key away"
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
    session = await opened(path)
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
    monkeypatch.setattr(exec_plugin, "DEADLINE_SECONDS", 0.3)
    sentence = await sentence_of(as_user(_plugin(tmp_path, f"sleep 600 & echo $! > {tmp_path}/child; wait")))
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
    sentence = await sentence_of(as_user(_plugin(tmp_path, body)))
    assert word in sentence
    assert str(tmp_path / "plugin") in sentence
    assert sentence.isprintable()


async def test_an_exec_plugin_that_is_not_there_gives_its_hint(as_user: WriteUser, tmp_path: Path) -> None:
    spec = _plugin(tmp_path, "", installHint="get it from example.test")
    spec["exec"]["command"] = str(tmp_path / "not-there")
    assert "get it from example.test" in await sentence_of(as_user(spec))
