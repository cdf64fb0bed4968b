"""A cockpit that is killed leaves no part of a file, no key and no core; what it kept is its owner's."""

import asyncio
import base64
import os
import resource
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from cockpit.clock import ManualClock, SystemClock
from cockpit.kube import credentials
from cockpit.kube.logins import Logins
from cockpit.local_state.audit import Audit, Entry
from cockpit.local_state.crashes import Crashes
from cockpit.local_state.paths import write_private
from cockpit.local_state.shared_notes import SharedNotes
from cockpit.model.remembered import Acknowledgement
from tests.bed import pki
from tests.reliability.figures import Tell

STEPS = ("open", "fchmod", "fsync", "link", "replace", "close")
"""What a write asks of the system, as far as Python sees it."""


def killed(work: Callable[[], object], at: int, patch: Callable[[str, Any], None]) -> bool:
    """Do the work in a child that dies before its step number `at`; whether it died."""
    child = os.fork()
    if not child:
        left = at

        def dying(real: Callable[..., Any]) -> Callable[..., Any]:
            def step(*given: Any, **named: Any) -> Any:
                nonlocal left
                if not left:
                    os.kill(os.getpid(), signal.SIGKILL)
                left -= 1
                return real(*given, **named)

            return step

        for name in STEPS:
            patch(name, dying(getattr(os, name)))
        work()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def acknowledgement() -> Acknowledgement:
    return Acknowledgement(
        subject_key="node/n1", finding="lost", made_seconds=1.0, until_seconds=None, note="seen", who="ann"
    )


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.row(62, "kills in the middle of a write", least=20)
@pytest.mark.row(62, "files left after the kill and the next write", most=0)
@pytest.mark.row(62, "files that were neither the old nor the new", most=0)
@pytest.mark.row(62, "rights beyond the owner's", most=0)
def test_no_part_of_a_file_outlives_a_kill(tmp_path: Path, figure: Tell) -> None:
    notes = tmp_path / "notes"
    notes.mkdir(mode=0o700)
    shared = SharedNotes(notes, "https://prod.example")
    choices, manifest = tmp_path / "state" / "places.json", tmp_path / "state" / "kept" / "id1.json"
    writes: list[tuple[Path, Callable[[], object]]] = [
        (choices, lambda: write_private(choices, "new" * 1_000)),
        (manifest, lambda: write_private(manifest, "new" * 1_000)),
        (notes, lambda: shared.write(acknowledgement())),
    ]
    kills = left = torn = 0
    for is_there in (False, True):
        for where, write in writes:
            at = 0
            while True:
                for old in files(tmp_path):
                    old.unlink()
                if is_there:
                    write()
                before = {path: path.read_bytes() for path in files(tmp_path)}
                if not killed(write, at, lambda name, step: setattr(os, name, step)):
                    break
                kills, at = kills + 1, at + 1
                whole = where == notes or not where.exists() or where.read_text() == "new" * 1_000
                torn += not whole or any(not path.exists() for path in before)
                write()
                left += len(files(tmp_path)) - 1
    figure("kills in the middle of a write", kills)
    figure("files left after the kill and the next write", left)
    figure("files that were neither the old nor the new", torn)
    audit = Audit(tmp_path / "state" / "audit.jsonl")
    audit.append(Entry(audit_id="id1", step="intent", at_seconds=1.0, verb="kill", target="job a/b"))
    audit.keep("id2", {"metadata": {"name": "fit"}})
    Crashes(tmp_path / "state", ManualClock(0.0)).note(ValueError("x"), "feed")
    kept = list((tmp_path / "state").rglob("*"))
    assert len(kept) >= 6
    figure("rights beyond the owner's", sum(bool(stat.S_IMODE(path.stat().st_mode) & 0o077) for path in kept))


@pytest.mark.row(62, "keys on the disk while they are in use, and after a kill", most=0)
def test_a_key_of_the_kubeconfig_is_never_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, figure: Tell
) -> None:
    authority = pki.make_ca(tmp_path, "ca")
    client = pki.make_client(tmp_path, "client", authority, "ann")
    path = tmp_path / "kubeconfig"
    user = {
        f"client-{what}-data": base64.b64encode(file.read_bytes()).decode()
        for what, file in (("certificate", client.certificate_file), ("key", client.key_file))
    }
    cluster = {"server": "https://127.0.0.1:1", "insecure-skip-tls-verify": True}
    tree = {
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path.write_text(yaml.safe_dump(tree))
    path.chmod(0o600)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    used: list[str] = []
    real = credentials._tls_context

    def load(context: str | None = None) -> None:
        made = credentials.prepare(SystemClock(), str(path), context, Logins())
        asyncio.new_event_loop().run_until_complete(made.first_load())

    def looking(configuration: Any) -> Any:
        used.extend(str(one) for one in files(temporary))
        return real(configuration)

    monkeypatch.setattr(credentials, "_tls_context", looking)
    load()
    child = os.fork()
    if not child:
        monkeypatch.setattr(credentials, "_tls_context", lambda _: os.kill(os.getpid(), signal.SIGKILL))
        load()
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    figure("keys on the disk while they are in use, and after a kill", len(used) + len(files(temporary)))


@pytest.mark.row(62, "bytes of a core that may be dumped", most=0)
def test_no_core_is_dumped(figure: Tell) -> None:
    asked = "import resource\nfrom cockpit.cli import main\n"
    asked += "try:\n    main(['--version'])\nexcept SystemExit:\n    pass\n"
    done = subprocess.run(
        [sys.executable, "-c", f"{asked}print(resource.getrlimit(resource.RLIMIT_CORE)[0])"],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, 1 << 20)),
    )
    figure("bytes of a core that may be dumped", int(done.stdout.split()[-1]))
