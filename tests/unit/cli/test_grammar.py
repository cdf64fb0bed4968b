"""The grammar: speed of --help, one sentence for what is wrong, exit codes."""

import argparse
import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cockpit import cli
from cockpit.errors import BadInput, Refused
from tests.unit.cli.builders import Cluster, run

Capture = pytest.CaptureFixture[str]


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from cockpit.cli import build_parser; build_parser().format_help();"
        "print([m for m in ('msgspec', 'yaml', 'textual', 'asyncio', 'kubernetes', 'aiohttp', 'json')"
        " if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "words",
    [
        ("--help",), ("get", "--help"), ("job", "submit", "--help"), ("job", "kill", "--help"),
        ("pool", "scale", "--help"), ("template", "list", "--help"), ("audit", "show", "--help"),
    ],
)  # fmt: skip
def test_every_command_helps(words: tuple[str, ...], capsys: Capture) -> None:
    code, out, _err = run(capsys, *words)
    assert code == 0
    assert "usage: cockpit" in out


def test_version(capsys: Capture) -> None:
    code, out, _err = run(capsys, "--version")
    assert (code, out.split()[0]) == (0, "cockpit")


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("get",), "the following arguments are required: KIND"),
        (("get", "dogs"), "invalid choice: 'dogs'"),
        (("get", "jobs", "-o", "xml"), "invalid choice: 'xml'"),
        (("frobnicate",), "invalid choice: 'frobnicate'"),
        (("job",), "the following arguments are required: VERB"),
        (("job", "kill"), "which jobs? give names, or --filter"),
        (("job", "smoke", "n1"), "invalid choice: 'smoke'"),
        (("node", "smoke-test"), "the following arguments are required: NODE"),
        (("pool", "scale", "h100"), "the following arguments are required: --to"),
        (("get", "jobs", "--timeout", "soon"), "'soon' is not a valid number of seconds"),
        (("get", "jobs", "--timeout", "-1"), "is not a valid number of seconds: give more than 0"),
        (("get", "jobs", "--cont", "x"), "unrecognized arguments: --cont x"),
        (("--nonsense",), "unrecognized arguments: --nonsense"),
    ],
)
def test_wrong_words_are_one_sentence_and_exit_2(words: tuple[str, ...], part: str, capsys: Capture) -> None:
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert part in err
    assert err.startswith("cockpit: ")
    assert err.count("\n") == 1


def test_options_count_before_and_after_the_command() -> None:
    for words in (
        ["--context", "a", "--write", "job", "kill", "x"],
        ["job", "kill", "x", "--context", "a", "--write"],
    ):
        options = cli.build_parser().parse_args(words)
        assert (options.context, options.write) == ("a", True)


def leaves(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Every parser of a command."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from leaves(below)
    if parser.get_default("command") is not None:
        yield parser


def test_options_for_the_cluster_are_in_the_main_help_alone() -> None:
    main = cli.build_parser()
    pages = [parser.format_help() for parser in leaves(main) if parser is not main]
    assert len(pages) > 40
    for page in pages:
        assert "--prometheus-url" not in page and "--kubeconfig" not in page
        alone = ("tour", "completion", "man")
        assert page.count("cockpit --help") == 1 or any(f"usage: cockpit {name}" in page for name in alone)
    assert "--prometheus-url" in main.format_help() and "--kubeconfig" in main.format_help()


@pytest.mark.parametrize(
    ("program", "usage"), [("kubectl-cockpit", "kubectl cockpit"), ("cockpit", "cockpit")]
)
def test_the_help_names_the_program_as_it_was_called(
    program: str, usage: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [f"/usr/bin/{program}"])
    assert run(capsys, "get", "--help")[1].startswith(f"usage: {usage} get ")
    assert run(capsys, "get")[2].endswith(f"see {usage} get --help\n")


def test_the_screens_need_a_terminal(capsys: Capture) -> None:
    code, _out, err = run(capsys)
    assert code == 2
    assert err == "cockpit: the screens need a terminal; for text output use cockpit get overview\n"


@pytest.mark.parametrize(
    ("raised", "code", "part"),
    [
        (BadInput("wrong"), 2, "cockpit: wrong\n"),
        (Refused("no"), 1, "cockpit: no\n"),
        (KeyboardInterrupt(), 130, "cockpit: interrupted\n"),
    ],
)
def test_expected_ends(
    raised: BaseException, code: int, part: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_options: object) -> int:
        raise raised

    monkeypatch.setattr("cockpit.commands.audit.show", fail)
    assert run(capsys, "audit", "show") == (code, "", part)


def test_an_interrupt_that_hits_a_class_being_made_is_one(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python before 3.12 makes a RuntimeError of what `__set_name__` raises."""

    def fail(_options: object) -> int:
        raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()

    monkeypatch.setattr("cockpit.commands.audit.show", fail)
    assert run(capsys, "audit", "show") == (130, "", "cockpit: interrupted\n")


def test_an_unexpected_error_is_one_sentence_and_a_private_file(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    def fail(_options: object) -> int:
        raise ZeroDivisionError("by zero, token=hunter2hunter2")

    monkeypatch.setattr("cockpit.commands.audit.show", fail)
    code, out, err = run(capsys, "audit", "show")
    assert (code, out) == (2, "")
    assert "Traceback" not in err
    (kept,) = (home / "state" / "gpu-cockpit" / "crashes").iterdir()
    assert err == f"cockpit: internal error in the command (ZeroDivisionError): report at {kept}\n"
    text = kept.read_text()
    assert "\nZeroDivisionError\n" in text and " in fail\n" in text
    assert "hunter2" not in text and "by zero" not in text
    assert kept.stat().st_mode & 0o777 == 0o600


def test_a_reader_that_left_is_no_error() -> None:
    code = "import sys; from cockpit.cli import main; sys.exit(main(['template', 'list']))"
    done = subprocess.run(
        f'"{sys.executable}" -c "{code}" | true; test "${{PIPESTATUS[0]}}" -eq 0',
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_broken_configuration_is_one_sentence(capsys: Capture, cluster: Cluster, home: Path) -> None:
    (home / "config" / "gpu-cockpit" / "config.toml").write_text("namespce = 'x'\n")
    code, _out, err = run(capsys, "get", "jobs")
    assert code == 2
    assert "config.toml:1: namespce: unknown key; did you mean namespace?" in err
    assert cluster.sessions == []


def test_a_namespace_that_is_no_name(capsys: Capture, cluster: Cluster) -> None:
    code, _out, err = run(capsys, "get", "jobs", "-n", "Team A")
    assert code == 2
    assert "--namespace: 'Team A' is not a valid namespace name" in err


def test_a_prometheus_url_that_is_none(capsys: Capture, cluster: Cluster) -> None:
    code, _out, err = run(capsys, "get", "gpus", "--prometheus-url", "prom")
    assert code == 2
    assert "'prom' is not usable; write http://host:port or namespace/service:port" in err
    assert cluster.sessions == []


def test_every_command_leads_to_a_function() -> None:
    """Modules of commands are imported by name when they are called."""

    commands = {parser.get_default("command") for parser in leaves(cli.build_parser())}
    assert len(commands) > 20
    for command in commands:
        module, _, function = command.partition(":")
        assert callable(getattr(importlib.import_module(f"cockpit.commands.{module}"), function)), command
