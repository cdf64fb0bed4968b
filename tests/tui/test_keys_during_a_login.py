"""Row 22 of the reliability table: a credential plugin that hangs, asks and writes disturbs no terminal."""

import datetime
import json
import os
import sys
import time
from pathlib import Path

import pytest

from tests.bench.terminal import Terminal
from tests.reliability.figures import Tell, whole
from tests.tui.pseudo_terminal import foreign_bytes
from tests.tui.test_keys_under_load import PATIENCE_SECONDS, ROOT, flooding, key_milliseconds, types_down
from tests.unit.kube.builders import kubeconfig

V1 = "client.authentication.k8s.io/v1"
LIFE_SECONDS = 8.0
STRAY = "STRAY"
APP = (
    "import sys; from cockpit import app; from cockpit.attach import AttachOptions;"
    "app.run(app.AppOptions(AttachOptions(kubeconfig=sys.argv[1]), first_place='pods'))"
)
PLUGIN = """#!/bin/sh
echo $$ >> {folder}/runs
if [ $(wc -l < {folder}/runs) -eq 1 ]; then cat {folder}/given; exit 0; fi
printf '\\033[2J{stray}' > /dev/tty
printf '\\033]0;{stray}\\007Password {stray}: ' >&2
read -r line
echo "read: $line" > {folder}/stdin
sleep 600
"""


def plugin_of(folder: Path) -> dict[str, object]:
    """A user whose plugin gives a token for some seconds, and then behaves badly."""
    ends = datetime.datetime.fromtimestamp(time.time() + LIFE_SECONDS, datetime.UTC).isoformat()
    given = {
        "apiVersion": V1,
        "kind": "ExecCredential",
        "status": {"token": "t", "expirationTimestamp": ends},
    }
    (folder / "given").write_text(json.dumps(given))
    script = folder / "plugin"
    script.write_text(PLUGIN.format(folder=folder, stray=STRAY))
    script.chmod(0o700)
    return {"exec": {"apiVersion": V1, "command": str(script), "interactiveMode": "Never"}}


def runs(folder: Path) -> list[int]:
    """Process ids of the plugin, each run's."""
    file = folder / "runs"
    return [int(line) for line in file.read_text().split()] if file.exists() else []


@pytest.mark.waits
@pytest.mark.row(22, "p99 key", most=33, unit="ms")
@pytest.mark.row(22, "keys", least=200, unit="cases")
@pytest.mark.row(22, "keys without an answer", most=0)
@pytest.mark.row(22, "stray bytes", most=0)
@pytest.mark.row(22, "keys that the plugin took", most=0)
@pytest.mark.row(22, "plugins left behind", most=0)
def test_a_plugin_that_hangs_disturbs_no_key_and_no_screen(tmp_path: Path, figure: Tell) -> None:
    seconds, pods = whole(22, 3), 400
    with flooding(pods) as flood:
        argv = [sys.executable, "-c", APP, kubeconfig(tmp_path, flood.server.url, user=plugin_of(tmp_path))]
        home = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path), "LANG": "C.UTF-8"}
        terminal = Terminal(argv, {**os.environ, **home}, ROOT)
        try:
            while not (tmp_path / "stdin").exists():
                terminal.read_until(terminal.seconds + 0.1)
                assert terminal.seconds < PATIENCE_SECONDS and not terminal.has_ended
            types_down(terminal, seconds)
            terminal.read_until(terminal.seconds + 1.0)
            p99, lost = key_milliseconds(terminal, pods)
            hung = runs(tmp_path)[-1]
            assert Path(f"/proc/{hung}").exists(), "it hangs all the while"
            keys = len(terminal.recording.keys)
            terminal.press("q", b"q")
            terminal.read_until(terminal.seconds + PATIENCE_SECONDS)
            assert terminal.has_ended
        finally:
            if not terminal.has_ended:
                terminal.close()
    sent = b"".join(chunk for _, chunk in terminal.recording.chunks)
    figure("p99 key", p99)
    figure("keys", keys)
    figure("keys without an answer", lost)
    figure("stray bytes", sum(map(len, foreign_bytes(sent))) + len(STRAY) * sent.count(STRAY.encode()))
    figure("keys that the plugin took", len((tmp_path / "stdin").read_text()) - len("read: \n"))
    figure("plugins left behind", Path(f"/proc/{hung}").exists())
