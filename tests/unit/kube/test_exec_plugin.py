"""Credential plugins have the terminal only where it is free, and cannot hang or lie."""

import base64
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from cockpit.clock import ManualClock
from cockpit.errors import LoginExpired, NoConnection
from cockpit.kube.exec_plugin import run_plugin
from cockpit.kube.kubeconfig import choose
from cockpit.kube.kubeconfig_fields import EXEC_EXTENSION
from cockpit.kube.logins import Logins, ask_first
from tests.unit.kube.builders import kubeconfig

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


async def test_cluster_info_is_given_only_when_asked_for(tmp_path: Path) -> None:
    script = (
        "import os, json, sys\n"
        "info = json.loads(os.environ['KUBERNETES_EXEC_INFO'])['spec'].get('cluster')\n"
        "assert json.dumps(info) == sys.argv[1], info\n"
    ) + answering(token="t")
    authority = tmp_path / "ca.crt"
    authority.write_text("PEM")
    cluster = {
        "server": "https://x",
        "certificate-authority": str(authority),
        "disable-compression": True,
        "extensions": [{"name": "other"}, {"name": EXEC_EXTENSION, "extension": {"audience": "a"}}],
    }
    told = {
        "server": "https://x",
        "disable-compression": True,
        "certificate-authority-data": base64.b64encode(b"PEM").decode(),
        "config": {"audience": "a"},
    }
    await run_plugin(plugin(script, json.dumps(told), provideClusterInfo=True), cluster)
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


async def test_a_plugin_that_fails_shows_its_hint_too() -> None:
    sentence = await sentence_of(plugin("import sys; sys.exit(2)", installHint="run login\nfirst"))
    assert "failed with code 2: no output; run login first" in sentence


@pytest.fixture
def typed() -> Iterator[Callable[[str], None]]:
    """Standard input is a terminal; what the fixture is called with was typed there."""
    ours, theirs = os.openpty()
    saved = os.dup(0)
    os.dup2(theirs, 0)

    def type_(text: str) -> None:
        os.write(ours, text.encode())

    yield type_
    os.dup2(saved, 0)
    for descriptor in (saved, ours, theirs):
        os.close(descriptor)


ASKS = (
    "import sys, os, json\n"
    "info = json.loads(os.environ['KUBERNETES_EXEC_INFO'])['spec']\n"
    "if not info['interactive']: sys.exit(5)\n"
    "assert sys.stdin.isatty()\n"
    "word = input()\n"
    f"print(json.dumps({{'apiVersion': {V1!r}, 'status': {{'token': word}}}}))"
)


async def test_a_plugin_that_asks_reads_the_terminal(typed: Callable[[str], None]) -> None:
    typed("one-time-code\n")
    assert (await run_plugin(plugin(ASKS), has_terminal=True)).token == "one-time-code"


class Lender:
    """A terminal that counts how often it was lent."""

    def __init__(self, *, is_taken: bool) -> None:
        self.is_taken = is_taken
        self.lent: list[str] = []

    @asynccontextmanager
    async def lend(self, plugin: str) -> AsyncIterator[None]:
        self.lent.append(plugin)
        yield


@pytest.mark.parametrize(
    ("mode", "has_terminal", "is_taken", "lent", "ends"),
    [
        ("Never", True, False, 0, "failed with code 5"),
        ("IfAvailable", False, False, 0, "failed with code 5"),
        ("IfAvailable", True, False, 1, ""),
        ("IfAvailable", True, True, 1, ""),  # the screens leave it only once the plugin has failed without
        ("Always", False, False, 0, "asks on a terminal (interactiveMode: Always), and there is none here"),
        ("Always", True, False, 1, ""),
        ("Always", True, True, 1, ""),
    ],
)
async def test_who_gets_the_terminal(
    typed: Callable[[str], None], mode: str, has_terminal: bool, is_taken: bool, lent: int, ends: str
) -> None:
    lender = Lender(is_taken=is_taken)
    logins = Logins(lender if has_terminal else None)
    typed("code\n")
    spec = plugin(ASKS, interactiveMode=mode)
    if ends:
        with pytest.raises(LoginExpired) as caught:
            await logins.first(spec, {}, 0.0)
        assert ends in caught.value.sentence
        assert "gpu-cockpit" in caught.value.sentence or sys.executable in caught.value.sentence
    else:
        assert (await logins.first(spec, {}, 0.0)).token == "code"
        assert (await logins.first(spec, {}, 0.0)).token == "code", "it is kept: nobody is asked twice"
    assert len(lender.lent) == lent


async def test_a_plugin_that_needs_nobody_leaves_the_screens_alone(typed: Callable[[str], None]) -> None:
    lender = Lender(is_taken=True)
    spec = plugin(answering(token="t"), interactiveMode="IfAvailable")
    assert (await Logins(lender).first(spec, {}, 0.0)).token == "t"
    assert lender.lent == []


async def test_who_did_not_log_in_is_not_asked_again_until_the_context_is_chosen(
    typed: Callable[[str], None],
) -> None:
    lender = Lender(is_taken=True)
    logins = Logins(lender)
    spec = plugin("import sys; sys.exit(5)", interactiveMode="IfAvailable")
    for _ in range(3):
        with pytest.raises(LoginExpired):
            await logins.renewed(spec, {}, 0.0, may_ask=True)
    assert len(lender.lent) == 1
    with pytest.raises(LoginExpired):
        await logins.first(spec, {}, 0.0)
    assert len(lender.lent) == 2


async def test_a_login_that_is_still_good_disturbs_nobody(typed: Callable[[str], None]) -> None:
    lender = Lender(is_taken=True)
    spec = plugin(ASKS, interactiveMode="IfAvailable")
    with pytest.raises(LoginExpired):
        await Logins(lender).renewed(spec, {}, 0.0, may_ask=False)
    assert lender.lent == []


async def test_before_the_screens_the_plugin_of_the_context_asks_and_its_failure_is_told_once(
    tmp_path: Path, typed: Callable[[str], None]
) -> None:
    lender = Lender(is_taken=False)
    logins = Logins(lender)
    spec = plugin(ASKS, interactiveMode="IfAvailable")
    path = kubeconfig(tmp_path, "https://x", user={"exec": spec})
    typed("code\n")
    await ask_first(logins, path, None, ManualClock())
    lender.is_taken = True
    chosen = choose(path, None, in_cluster=False)
    assert chosen is not None
    assert (await logins.first(chosen.user["exec"], chosen.cluster, 0.0)).token == "code"
    assert len(lender.lent) == 1

    failing = plugin("import sys; sys.exit(5)", interactiveMode="IfAvailable")
    path = kubeconfig(tmp_path, "https://x", user={"exec": failing})
    lender.is_taken = False
    await ask_first(logins, path, None, ManualClock())
    assert len(lender.lent) == 2
    chosen = choose(path, None, in_cluster=False)
    assert chosen is not None
    with pytest.raises(LoginExpired, match="failed with code 5"):
        await logins.first(chosen.user["exec"], chosen.cluster, 0.0)
    assert len(lender.lent) == 2, "the session that opens next tells it and asks nobody"


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
