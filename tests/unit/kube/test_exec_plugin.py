"""Credential plugins cannot touch the terminal, hang or lie."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from cockpit.errors import NoConnection
from cockpit.kube.exec_plugin import run_plugin

V1 = "client.authentication.k8s.io/v1"


def plugin(script: str, *args: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": V1, "command": sys.executable, "args": ["-c", script, *args], **more}


def answering(**status: str) -> str:
    text = json.dumps({"apiVersion": V1, "kind": "ExecCredential", "status": status})
    return f"print({text!r})"


async def sentence_of(spec: dict[str, Any], **options: Any) -> str:
    with pytest.raises(NoConnection) as caught:
        await run_plugin(spec, **options)
    assert "\n" not in caught.value.sentence
    return caught.value.sentence


async def test_a_token_and_its_end() -> None:
    given = await run_plugin(plugin(answering(token="abc", expirationTimestamp="2026-11-01T10:00:00Z")))
    assert (given.token, given.expires_seconds) == ("abc", 1793527200.0)
    assert "abc" not in repr(given)


async def test_a_certificate_with_its_key() -> None:
    given = await run_plugin(plugin(answering(clientCertificateData="C", clientKeyData="K")))
    assert (given.certificate, given.key, given.token) == ("C", "K", "")


async def test_stdin_is_closed_and_there_is_no_terminal() -> None:
    script = (
        "import sys, os, json\n"
        "assert sys.stdin.read() == ''\n"
        "assert os.getsid(0) == os.getpid()\n"
        "info = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        "assert info['spec']['interactive'] is False\n"
        "assert os.environ['EXTRA'] == 'yes'\n"
    ) + answering(token="t")
    assert (await run_plugin(plugin(script, env=[{"name": "EXTRA", "value": "yes"}]))).token == "t"


async def test_cluster_info_is_given_only_when_asked_for() -> None:
    script = (
        "import os, json, sys\n"
        "info = json.loads(os.environ['KUBERNETES_EXEC_INFO'])['spec'].get('cluster')\n"
        "assert json.dumps(info) == sys.argv[1], info\n"
    ) + answering(token="t")
    cluster = {"server": "https://x", "extensions": ["no"]}
    await run_plugin(plugin(script, '{"server": "https://x"}', provideClusterInfo=True), cluster)
    await run_plugin(plugin(script, "null"), cluster)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (
            "import sys; sys.stderr.write('no \\x1b[31mlogin\\n'); sys.exit(3)",
            "failed with code 3: no [31mlogin",
        ),
        ("import sys; sys.exit(1)", "no output"),
        ("print('hello')", "did not print an ExecCredential"),
        ("print('[]')", "did not print an ExecCredential"),
        ('print(\'{"apiVersion": "v0", "status": {}}\')', "speaks v0"),
        (answering(), "neither a token nor a certificate"),
        (answering(clientCertificateData="C"), "neither a token nor a certificate"),
    ],
)
async def test_what_goes_wrong_is_named(script: str, words: str) -> None:
    sentence = await sentence_of(plugin(script))
    assert words in sentence
    assert "\x1b" not in sentence


async def test_a_missing_plugin_shows_its_hint() -> None:
    spec = {"apiVersion": V1, "command": "gpu-cockpit-no-such-plugin", "installHint": "run make\ninstall"}
    sentence = await sentence_of(spec)
    assert "gpu-cockpit-no-such-plugin cannot be run" in sentence
    assert "run make install" in sentence


@pytest.mark.parametrize("spec", [{"command": "x"}, {"apiVersion": V1}, {}])
async def test_incomplete_sections(spec: dict[str, Any]) -> None:
    assert "lacks command or apiVersion" in await sentence_of(spec)


async def test_a_hanging_plugin_is_killed_with_its_children(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    script = (
        "import os, subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(mark)!r} + '.tmp', 'w').write(str(child.pid))\n"
        f"os.rename({str(mark)!r} + '.tmp', {str(mark)!r})\n"
        "child.wait()\n"
    )
    sentence = await sentence_of(plugin(script), deadline_seconds=1.0)
    assert "did not answer within 1 s" in sentence
    assert "run it once in another terminal" in sentence
    if mark.exists():
        child = int(mark.read_text())
        with pytest.raises(OSError, match="No such"):
            _until_gone(child)


def _until_gone(pid: int) -> None:
    """Raises ProcessLookupError once the killed process is reaped; a zombie of another parent counts too."""
    for _ in range(2000):
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat")
        if state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z":
            raise ProcessLookupError("No such process: only its entry is left")
        os.sched_yield()
