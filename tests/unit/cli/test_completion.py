"""Completion in real shells, and names within their time."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cockpit import cli
from cockpit.commands.complete_names import MOST_NAMES, beginning, chosen_in
from cockpit.commands.completion import script
from cockpit.commands.names_of import names_of
from cockpit.local_state.folders import state_folder_name
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
for ((try = 0; try < 2000; try++)); do
  _shtab_cockpit; [[ ${#COMPREPLY[@]} -gt 0 || -z $2 ]] && break
done
printf '%s\\n' "${COMPREPLY[@]}"
"""
ZSH = """
compdef() { }; _arguments() { }; source ./script
compadd() { print -l -- $@ }; LBUFFER='cockpit get --context '
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
    assert "_cockpit_names jobs" in out
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
        ("cockpit job submit mpijob-e", {"mpijob-elastic"}),
    ],
)
def test_bash_completes_names_and_runs_none_of_them(line: str, found: set[str], shelter: Path) -> None:
    written(shelter, "bash")
    assert set(shell("bash", "-c", BASH, "bash", line, "names").split()) == found
    assert not (shelter / "EVIL").exists()


def test_fish_asks_for_the_names_of_the_line(shelter: Path) -> None:
    ask = "complete -C 'cockpit get nodes --context '"
    again = f"for i in (seq 2000); set out ({ask}); string match -q '*prod*' $out; and break; end"
    out = shell("fish", "-c", f"source {written(shelter, 'fish')}; {again}; printf '%s\\n' $out")
    assert "prod" in out.split()


def test_fish_completes_words(shelter: Path) -> None:
    out = shell("fish", "-c", f"source {written(shelter, 'fish')}; complete -C 'cockpit get no'")
    assert [line.split("\t")[0] for line in out.splitlines()] == ["nodes"]


def test_zsh_asks_for_the_names_of_the_line(shelter: Path) -> None:
    written(shelter, "zsh")
    again = "for i in {1..2000}; do out=$(_cockpit_names_contexts); [[ $out == *prod* ]] && break; done"
    assert "prod" in shell("zsh", "-f", "-c", f"{ZSH}{again}; print -r -- $out").split()


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


def test_names_that_are_not_known_are_none_and_come_the_next_time(shelter: Path) -> None:
    """The reader hangs until a file is there; the asker has long its answer, and no second reader begins."""
    program = """
from cockpit.commands import complete_names, names_of
def slow(kind, chosen):
    with open("gate") as gate:
        gate.read()
    with open("read", "a") as read:
        read.write(kind)
    return ["n2", "n1", "$(evil)"]
names_of.names_of = slow
for _ in range(5):
    assert list(complete_names.known("nodes", {})) == []
with open("gate", "w") as gate:
    gate.write("go")
while not complete_names.known("nodes", {}):
    pass
assert list(complete_names.known("nodes", {})) == ["n1", "n2"]
assert list(complete_names.known("jobs", {})) == []
"""
    os.mkfifo(shelter / "gate")
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (shelter / "read").read_text() == "nodes"
    folder = Path(state_folder_name(os.environ)) / "completion"
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


@pytest.mark.parametrize("name", SHELLS)
def test_a_program_that_does_not_answer_holds_no_shell_up(name: str, shelter: Path) -> None:
    """It answers what is asked only once the shell is done."""
    os.mkfifo(shelter / "gate")
    (shelter / "bin" / "cockpit").write_text("#!/bin/sh\nread line < gate\necho prod\n")
    ask = {
        "bash": (BASH, "bash", "cockpit get nodes --context ", ""),
        "zsh": (f"{ZSH}_cockpit_names_contexts; print done",),
        "fish": ("source script; complete -C 'cockpit get nodes --context '",),
    }[name]
    written(shelter, name)
    with open(shelter / "out", "w") as out:  # no pipe: the program still holds what it inherited
        words = [name, *(["-f"] if name == "zsh" else []), "-c", *ask]
        subprocess.run(words, stdout=out, stderr=out, timeout=60, check=True)
    with open(shelter / "gate", "w") as gate:
        gate.write("go\n")
    assert (shelter / "out").read_text().split() == (["--", "done"] if name == "zsh" else [])


def test_of_too_many_names_the_shell_gets_what_they_have_in_common() -> None:
    names = [f"node-{number:05d}" for number in range(20_000)]
    found = beginning(names, "node-1")
    assert len(found) == MOST_NAMES
    assert (found[0], found[-1]) == (names[10_000], names[-1])
    assert beginning(names, "node-0000") == names[:10]
    assert beginning(names, "x") == []
