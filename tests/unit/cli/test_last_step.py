"""The last step of printing, and what a process may lack: a sentence and an exit code, never a traceback."""

import errno
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cockpit import memory_guard
from cockpit.cli import main
from cockpit.clock import ManualClock
from cockpit.errors import NoConnection, shortage_of
from cockpit.last_resort import unexpected
from cockpit.local_state.crashes import Crashes

_OFFLINE = (
    ("demo", "--list"), ("template", "list"), ("template", "show", "mpijob"), ("audit", "list"),
    ("--help",), ("job", "submit", "--help"), ("--version",),
)  # fmt: skip


def run(
    *words: str, out: int = subprocess.PIPE, lang: str = "", before: Callable[[], None] | None = None
) -> "subprocess.CompletedProcess[bytes]":
    environment = {**os.environ, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    if lang:
        environment["PYTHONIOENCODING"] = lang
    command = [sys.executable, "-m", "cockpit", *words]
    return subprocess.run(
        command,
        stdout=out,
        stderr=subprocess.PIPE,
        env=environment,
        preexec_fn=before,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize("words", _OFFLINE, ids=" ".join)
def test_a_full_disk_is_a_sentence_and_an_exit_code(words: tuple[str, ...]) -> None:
    with open("/dev/full", "wb") as full:
        done = run(*words, out=full.fileno())
    said = "cockpit: standard output: No space left on device; what was to be printed is incomplete\n"
    assert (done.returncode, done.stderr.decode()) == (2, said)


@pytest.mark.parametrize("words", _OFFLINE, ids=" ".join)
def test_a_reader_that_left_is_not_worth_a_word(words: tuple[str, ...]) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = run(*words, out=write)
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_closed_standard_output_is_told_and_no_file_takes_its_number() -> None:
    done = run("template", "list", before=lambda: os.close(1))
    assert done.returncode == 2
    assert done.stderr == b"cockpit: standard output is closed; open it, or send it to /dev/null\n"


@pytest.mark.parametrize(("lang", "most"), [("ascii", 0x7F), ("latin-1", 0xFF)])
def test_characters_that_the_encoding_lacks_are_replaced_one_for_one(lang: str, most: int) -> None:
    whole, poor = (run("template", "show", "mpijob", lang=name) for name in ("utf-8", lang))
    assert (whole.returncode, poor.returncode, poor.stderr) == (0, 0, b"")
    lines, plain = whole.stdout.decode().splitlines(), poor.stdout.decode(lang).splitlines()
    assert any(ord(letter) > most for line in lines for letter in line)
    assert [len(line) for line in lines] == [len(line) for line in plain]


def test_a_failing_command_keeps_its_exit_code_when_its_errors_cannot_be_written() -> None:
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "cockpit", "template", "show", "no-such"]
        assert subprocess.run(command, stdout=full, stderr=full, check=False, timeout=120).returncode == 2


# ---- what a process may lack


def test_a_limit_of_memory_ends_it_in_one_sentence() -> None:
    limit = 40 << 20
    done = run("template", "list", before=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    said = (
        r"cockpit: not enough memory: \d+ MB of the 42 MB that `ulimit -v` allows are in use; raise the limit"
    )
    assert done.returncode == 2
    assert re.fullmatch(said, done.stderr.decode().strip()), done.stderr.decode()


def test_a_command_that_left_for_lack_of_memory_does_not_end_well(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The screens take the signal as a wish to leave, and end with 0."""
    monkeypatch.setattr(memory_guard, "_short", ["not enough memory: ..."])
    assert main(["demo", "--list"]) == 2
    assert capsys.readouterr().err == "cockpit: not enough memory: ...\n"


def test_the_limit_is_told_while_there_is_room_to_leave() -> None:
    limit, room = 300 << 20, memory_guard.HEADROOM_BYTES
    assert memory_guard.short_of({"v": limit}, {"v": limit - room, "d": limit}) == ""
    assert "`ulimit -v`" in memory_guard.short_of({"v": limit}, {"v": limit - room + 1, "d": 0})
    assert "`ulimit -d`" in memory_guard.short_of({"v": limit, "d": limit}, {"v": 0, "d": limit})


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.EMFILE, "Too many open files"), "too many open files; raise the limit (ulimit -n)"),
        (MemoryError(), "not enough memory; close other programs, or ask for less with --namespace"),
        (RuntimeError("can't start new thread"), "no thread can be started; raise the limits of memory"),
        (ExceptionGroup("tasks", [ValueError(), MemoryError()]), "not enough memory"),
    ],
)
def test_what_the_machine_lacks_needs_no_report(error: Exception, said: str, tmp_path: Path) -> None:
    assert shortage_of(error).startswith(said) and unexpected(error).startswith(said)
    crashes = Crashes(tmp_path / "state", ManualClock(0.0))
    assert crashes.note(error, "reads of claims").startswith(f"reads of claims: {said}")
    assert not (tmp_path / "state").exists()
    assert shortage_of(NoConnection("gone")) == shortage_of(OSError(errno.EIO, "broken")) == ""


# ---- nests

_NESTS = {
    "flow": "a: " + "[" * 5_000 + "]" * 5_000,
    "deeper than libyaml's stack": "[" * 120_000 + "]" * 120_000,
    "objects": '{"a":' * 5_000 + "1" + "}" * 5_000,
    "block": "\n".join(" " * level + "a:" for level in range(600)),
}


@pytest.mark.parametrize("text", _NESTS.values(), ids=_NESTS)
def test_what_nests_too_deeply_is_a_sentence_that_names_the_file(text: str, tmp_path: Path) -> None:
    file = tmp_path / "deep.yaml"
    file.write_text(text + "\n")
    for words in (
        ("get", "pods", "--kubeconfig", str(file)),
        ("template", "lint", str(file)),
        ("demo", "--scenario", str(file)),
    ):
        done = run(*words)
        said = done.stderr.decode() + done.stdout.decode()
        assert done.returncode in (1, 2), (words, done.returncode)
        assert said.count("\n") == 1 and str(file) in said and "nested deeper than" in said, said


def test_a_configuration_and_an_audit_line_that_nest_are_sentences(tmp_path: Path) -> None:
    (tmp_path / "gpu-cockpit").mkdir()
    (tmp_path / "gpu-cockpit" / "config.toml").write_text("theme = " + "[" * 5_000 + "]" * 5_000)
    line = tmp_path / "audit.jsonl"
    line.write_text('{"a":' * 5_000 + "1" + "}" * 5_000 + "\n")
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "cockpit", "get", "pods"]
    done = subprocess.run(command, capture_output=True, env=environment, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (
        2,
        f"cockpit: {tmp_path}/gpu-cockpit/config.toml: nested too deeply\n",
    )
    told = run("audit", "apply", str(line), "--context", "any")
    assert told.returncode == 2 and b"line 1 is not a valid audit line" in told.stderr
