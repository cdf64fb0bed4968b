"""Completion in real shells, and names within their time."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cockpit import cli
from cockpit.commands.complete_names import chosen_in
from cockpit.commands.completion import script
from cockpit.commands.names_of import names_of
from tests.unit.cli.builders import run
from tests.unit.cli.test_commands import Capture

SHELLS = ("bash", "zsh", "fish")
CONFIG = """
apiVersion: v1
kind: Config
current-context: prod
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
contexts:
- {name: prod, context: {cluster: c, user: u}}
- {name: "arn:aws:eks:eu-west-1:1:cluster/prod", context: {cluster: c, user: u}}
- {name: "$(touch EVIL)", context: {cluster: c, user: u}}
users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: touch, args: [EVIL], interactiveMode: Never}}}]
"""  # noqa: E501
BASH = """
source ./script
compopt() { :; }
COMP_LINE="$1"; COMP_POINT=${#COMP_LINE}
read -ra COMP_WORDS <<< "$1"
[[ $1 == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  _shtab_cockpit; [[ ${#COMPREPLY[@]} -gt 0 || -z $2 ]] && break
done
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def shelter(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a kubeconfig and a `cockpit` on the path."""
    (home / "kubeconfig").write_text(CONFIG)
    monkeypatch.setenv("KUBECONFIG", str(home / "kubeconfig"))
    (home / "bin").mkdir()
    program = home / "bin" / "cockpit"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m cockpit "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{home / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[3]))
    monkeypatch.chdir(home)
    return home


def shell(name: str, *words: str) -> str:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    done = subprocess.run([name, *words], capture_output=True, text=True, timeout=120, check=False)
    assert done.stderr == ""
    return done.stdout


def written(folder: Path, name: str) -> str:
    path = folder / "script"
    path.write_text(script(cli.build_parser(is_whole=True), name))
    return str(path)


@pytest.mark.parametrize("name", SHELLS)
def test_the_script_is_what_the_command_prints_and_the_shell_reads_it(
    name: str, shelter: Path, capsys: Capture
) -> None:
    code, out, err = run(capsys, "completion", name)
    assert (code, err) == (0, "")
    assert out.rstrip() == Path(written(shelter, name)).read_text().rstrip()
    assert "complete-names jobs" in out or "_cockpit_names_jobs" in out
    shell(name, "-n", written(shelter, name))


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("cockpit con", {"config"}),
        ("cockpit get no", {"nodes"}),
        ("cockpit get nodes -o ", {"table", "json", "yaml", "csv"}),
        ("cockpit node dr", {"drain"}),
        ("cockpit get nodes --pro", {
            "--prometheus-url", "--prometheus-token-file", "--prometheus-username",
            "--prometheus-password-file", "--prometheus-ca-file",
        }),
        ("cockpit comp", {"completion"}),
    ],
)  # fmt: skip
def test_bash_completes_words(line: str, found: set[str], shelter: Path) -> None:
    written(shelter, "bash")
    assert set(shell("bash", "-c", BASH, "bash", line, "").split()) == found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("cockpit get nodes --context ", {"prod", "arn:aws:eks:eu-west-1:1:cluster/prod"}),
        ("cockpit get nodes --context arn:aws:", {"arn:aws:eks:eu-west-1:1:cluster/prod"}),
        ("cockpit job submit mpi", {"mpijob", "mpijob-ddp", "mpijob-elastic"}),
    ],
)
def test_bash_completes_names_and_runs_none_of_them(line: str, found: set[str], shelter: Path) -> None:
    written(shelter, "bash")
    assert set(shell("bash", "-c", BASH, "bash", line, "names").split()) == found
    assert not (shelter / "EVIL").exists()


def test_fish_completes_words(shelter: Path) -> None:
    out = shell("fish", "-c", f"source {written(shelter, 'fish')}; complete -C 'cockpit get no'")
    assert [line.split("\t")[0] for line in out.splitlines()] == ["nodes"]


def test_zsh_asks_for_the_names_of_the_line(shelter: Path) -> None:
    source = f"compdef() {{ }}; _arguments() {{ }}; source {written(shelter, 'zsh')}\n"
    ask = "compadd() { print -l -- $@ }; LBUFFER='cockpit get --context '\n"
    again = "for i in {1..20}; do out=$(_cockpit_names_contexts); [[ $out == *prod* ]] && break; done"
    names = f"{again}; print -r -- $out"
    assert "prod" in shell("zsh", "-f", "-c", source + ask + names).split()


@pytest.mark.parametrize(
    ("line", "chosen"),
    [
        ("cockpit get nodes --context a -n b ", {"context": "a", "namespace": "b"}),
        ("cockpit get --context=a --kubeconfig 'x y' ", {"context": "a", "kubeconfig": "x y"}),
        ("cockpit get nodes --context a", {}),
        ("cockpit get nodes --context ", {}),
        ("cockpit job kill 'open", {}),
        ("", {}),
    ],
)
def test_the_line_names_the_cluster(line: str, chosen: dict[str, str]) -> None:
    assert chosen_in(line) == chosen


@pytest.mark.parametrize("kind", ["nodes", "jobs", "subjects", "namespaces", "no-such-kind"])
def test_no_credential_plugin_is_run_and_nothing_is_said(kind: str, shelter: Path) -> None:
    assert list(names_of(kind, {"context": "prod"})) == []
    done = subprocess.run(
        ["cockpit", "complete-names", kind, "--", "cockpit get "],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert not (shelter / "EVIL").exists()


def test_what_is_late_is_none_and_comes_the_next_time(shelter: Path) -> None:
    """The reader hangs until a file is there; the parent has long answered by then."""
    program = """
import sys, time
from cockpit.commands import names_of
def slow(kind, chosen):
    open("begun", "w").close()
    with open("gate") as gate:
        gate.read()
    return ["n1"]
names_of.names_of = slow
from cockpit.commands.complete_names import _in_time, _kept, _kept_path
began = time.monotonic()
assert list(_in_time("nodes", {})) == []
assert time.monotonic() - began < 0.5
with open("gate", "w") as gate:
    gate.write("go")
path = _kept_path("nodes", {})
while not path.exists():
    pass
assert list(_in_time("nodes", {})) == ["n1"]
assert path.stat().st_mode & 0o777 == 0o600
"""
    os.mkfifo(shelter / "gate")
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
