"""Row 23 of the reliability table: a broken credential plugin costs its own cluster the login, no other."""

import json
import random
import stat
from pathlib import Path
from typing import Any

import pytest

from cockpit.clock import ManualClock
from cockpit.errors import CockpitError
from cockpit.kube import exec_plugin
from cockpit.kube.exec_plugin import OUTPUT_BYTES
from cockpit.kube.session import SessionOptions, open_session
from tests.reliability.figures import Tell, whole
from tests.unit.kube.builders import FakeServer, kubeconfig

V1 = "client.authentication.k8s.io/v1"
GOOD: dict[str, Any] = {
    "apiVersion": V1,
    "kind": "ExecCredential",
    "status": {"token": "t-1", "expirationTimestamp": "2099-01-01T00:00:00Z"},
}
ODD: tuple[Any, ...] = (
    None, True, 0, -1, 1e400, "", " ", "x\r\nHost: other", "\x00", "\x1b[2J", "\ud800", "ü", "9" * 5_000,
    [], [None], {}, {"a": {}}, "2026-99-99T99:99:99Z", "0001-01-01T00:00:00Z",
)  # fmt: skip
NAMES = ("token", "expirationTimestamp", "clientCertificateData", "clientKeyData")
SCRIPTS = {
    "missing": "",
    "fails": "exit 3",
    "killed": "kill -9 $$",
    "silent": "exit 0",
    "endless": f"head -c {4 * OUTPUT_BYTES} /dev/zero; sleep 60",
    "endless errors": f"head -c {4 * OUTPUT_BYTES} /dev/zero >&2; sleep 60",
    "nested": "printf '%0100000d' 0 | tr 0 '['",
    "not text": "printf '\\377\\376'",
    "hangs": "sleep 60",
    "leaves a daemon that holds its output": "setsid sleep 5 &",
    "html": "echo '<html>log in</html>'",
}
CASES = whole(1_000, 40)


def mangled(rng: random.Random) -> bytes:
    """A credential with odd values, or some other damage."""
    tree = json.loads(json.dumps(GOOD))
    where = rng.choice((tree, tree["status"], tree["status"]))
    for _ in range(rng.randint(1, 3)):
        where[rng.choice((*where, *NAMES))] = rng.choice(ODD)
    text = bytearray(json.dumps(tree).encode())
    damage = rng.random()
    if damage < 0.2:
        del text[rng.randrange(len(text)) :]
    elif damage < 0.4:
        text[rng.randrange(len(text))] = rng.randrange(256)
    return bytes(text)


class Tried:
    """A cluster whose plugin is broken in ever other ways, beside one that is well."""

    def __init__(self, folder: Path, clock: ManualClock, server: FakeServer) -> None:
        self.folder, self.clock, self.server = folder, clock, server
        self.script = folder / "plugin"

    def broken(self, body: str) -> str:
        """A kubeconfig whose plugin is this script, or is not there."""
        self.script.unlink(missing_ok=True)
        if body:
            self.script.write_text(f"#!/bin/sh\n{body}\n")
            self.script.chmod(self.script.stat().st_mode | stat.S_IXUSR)
        spec = {"apiVersion": V1, "command": str(self.script), "installHint": "get it from example.test"}
        return kubeconfig(self.folder, self.server.url, user={"exec": spec})

    async def crashes(self, path: str) -> tuple[int, str]:
        """Whether anything but a sentence comes of opening, reading and watching by it; and the sentence."""
        try:
            session = await open_session(SessionOptions(kubeconfig=path), self.clock)
            try:
                await session.request("GET", "/version")
                async with session.stream("/version"):
                    pass
            finally:
                await session.close()
        except CockpitError as error:
            return int("\n" in error.sentence or not error.sentence.isprintable()), error.sentence
        except Exception as error:
            return 1, repr(error)
        return 0, ""


@pytest.fixture
def tried(tmp_path: Path, clock: ManualClock, server: FakeServer) -> Tried:
    return Tried(tmp_path, clock, server)


@pytest.mark.row(23, "crashes by broken plugins", most=0)
@pytest.mark.row(23, "requests of another cluster that go on, of all", least=1.0)
@pytest.mark.row(23, "causes that name the plugin, of all", least=1.0)
async def test_a_broken_plugin_is_named_and_other_clusters_go_on(
    tried: Tried, tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, figure: Tell
) -> None:
    monkeypatch.setattr(exec_plugin, "DEADLINE_SECONDS", 0.5)
    (tmp_path / "other").mkdir()
    other = await open_session(
        SessionOptions(kubeconfig=kubeconfig(tmp_path / "other", tried.server.url)), clock
    )
    crashes = named = well = 0
    for body in SCRIPTS.values():
        crashed, sentence = await tried.crashes(tried.broken(body))
        crashes += crashed
        named += str(tried.script) in sentence
        well += (await other.request("GET", "/version")).ok
    await other.close()
    assert "get it from example.test" in (await tried.crashes(tried.broken("")))[1]
    figure("crashes by broken plugins", crashes)
    figure("requests of another cluster that go on, of all", well / len(SCRIPTS))
    figure("causes that name the plugin, of all", named / len(SCRIPTS))


@pytest.mark.row(23, "crashes by bad credentials", most=0)
@pytest.mark.row(23, "credentials tried", least=1_000, unit="cases")
async def test_no_credential_that_a_plugin_prints_ends_anything(tried: Tried, figure: Tell) -> None:
    path = tried.broken(f"cat {tried.folder}/printed")
    rng = random.Random("plugins")
    for _ in range(CASES):
        printed = mangled(rng)
        (tried.folder / "printed").write_bytes(printed)
        crashed, sentence = await tried.crashes(path)
        assert not crashed, (printed, sentence)
        figure("crashes by bad credentials", crashed)
    figure("credentials tried", CASES)
