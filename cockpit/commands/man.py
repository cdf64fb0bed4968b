"""`cockpit man`: the manual page in roff, made from the grammar: `cockpit man | man -l -`."""

import argparse
from collections.abc import Iterable, Iterator
from typing import Final

from cockpit import __version__
from cockpit.commands.output import put_data

_DATE: Final = "2026-11-30"
_FILES: Final = (
    ("~/.config/gpu-cockpit/config.toml", "configuration; see cockpit config init"),
    ("~/.local/state/gpu-cockpit/audit.jsonl", "audit log of changes made from this host"),
)
_ENVIRONMENT: Final = (
    ("KUBECONFIG", "kubeconfig files, where --kubeconfig names none"),
    ("COCKPIT_PROMETHEUS_URL", "Prometheus with the GPU metrics; likewise _TOKEN, _TOKEN_FILE, _USERNAME,"
     " _PASSWORD, _PASSWORD_FILE and _CA_FILE"),
    ("COCKPIT_PLAIN", "1 prints tables and pages for a screen reader and opens no screens"),
    ("XDG_CONFIG_HOME, XDG_STATE_HOME", "in the place of ~/.config and ~/.local/state"),
)  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Print the page."""
    put_data("\n".join(page(options.grammar())))
    return 0


def page(parser: argparse.ArgumentParser) -> Iterator[str]:
    """The lines of cockpit(1): options for the cluster once, then every command with its own."""
    yield f'.TH COCKPIT 1 "{_DATE}" "gpu-cockpit {__version__}" "User Commands"'
    yield from (".SH NAME", r"cockpit \- terminal cockpit for GPU clusters on Kubernetes")
    yield from (".SH SYNOPSIS", r".B cockpit", r"[\fIOPTIONS\fR] [\fICOMMAND\fR ...]")
    yield from (".SH DESCRIPTION", _text(parser.description or ""))
    yield ".SH OPTIONS"
    yield from _arguments(parser)
    yield ".SH COMMANDS"
    for command in commands(parser):
        yield from (f'.SS "{_text(command.prog)}"', _text(command.description or ""))
        yield from (".PP", _text(" ".join(command.format_usage().removeprefix("usage: ").split())))
        yield from _arguments(command)
    yield from (".SH EXIT STATUS", _text((parser.epilog or "").removeprefix("Exit codes: ")))
    for heading, pairs in ((".SH FILES", _FILES), (".SH ENVIRONMENT", _ENVIRONMENT)):
        yield heading
        for name, words in pairs:
            yield from (".TP", rf"\fB{_text(name)}\fR", _text(words))


def commands(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Every command below the parser that its help lists."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            listed = {choice.dest for choice in action._choices_actions}
            for name, below in action.choices.items():
                if below.get_default("command") is not None and name in listed:
                    yield below
                yield from commands(below)


def _arguments(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        if action.help == argparse.SUPPRESS or isinstance(action, argparse._SubParsersAction):
            continue
        yield from (".TP", _names(action), _text(action.help or ""))


def _names(action: argparse.Action) -> str:
    choices = "|".join(map(str, action.choices)) if action.choices else ""
    value = "" if action.nargs == 0 else str(action.metavar or choices or action.dest.upper())
    if not action.option_strings:
        return rf"\fI{_text(value)}\fR"
    names: Iterable[str] = (rf"\fB{_text(name)}\fR" for name in action.option_strings)
    return ", ".join(names) + (rf" \fI{_text(value)}\fR" if value else "")


def _text(text: str) -> str:
    """A line in which roff finds no request and no escape; hyphens stay those that can be typed."""
    escaped = " ".join(text.split()).replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq")
    return rf"\&{escaped}" if escaped.startswith(".") else escaped
