"""Pages made from the program: `docs/commands.md` from its grammar, `docs/causes.md` from the catalogue."""

import argparse
from collections.abc import Iterator
from typing import Final

from cockpit.cli import build_parser
from cockpit.commands.man import commands
from tests.docs.cause_pages import index
from tests.docs.markdown_pages import plain, sentence

_MADE: Final = "Made by `make docs`; a test compares."
_COUNTS: Final = {"?": "[{}]", "*": "[{} ...]", "+": "{} ...", "A...": "{} ...", "...": "{} ..."}
"""How `nargs` is written."""


def pages() -> dict[str, str]:
    """File name in `docs/` -> its text."""
    made = {"commands.md": _commands(build_parser()), "causes.md": index()}
    return {name: "\n".join(lines) + "\n" for name, lines in made.items()}


def _commands(parser: argparse.ArgumentParser) -> Iterator[str]:
    yield from ("# Commands", "", f"Every command with its options, from its own grammar. {_MADE}")
    yield from ("", "Every command works as `kubectl cockpit ...`, too.", "", plain(parser.epilog or ""))
    yield from ("", "## Options for the cluster", "", "They stand before or behind a command.")
    yield from _table(parser)
    for command in commands(parser):
        yield from ("", f"## {command.prog}", "", sentence(command.description or ""), "", "```text")
        yield from (" ".join(_usage(command)), "```")
        yield from _table(command)


def _usage(parser: argparse.ArgumentParser) -> Iterator[str]:
    """The words of a call, which do not depend on how this Python's argparse writes them."""
    shown = [action for action in parser._actions if _is_listed(action)]
    yield parser.prog
    if any(action.option_strings and not action.required for action in shown):
        yield "[OPTION ...]"
    yield from (f"{action.option_strings[-1]} {_value(action)}" for action in shown if _is_needed(action))
    for action in shown:
        if not action.option_strings:
            yield _COUNTS.get(str(action.nargs), "{}").format(_value(action))


def _is_needed(action: argparse.Action) -> bool:
    return bool(action.option_strings) and action.required


def _table(parser: argparse.ArgumentParser) -> Iterator[str]:
    shown = [action for action in parser._actions if _is_listed(action)]
    if shown:
        yield from ("", "| argument | what it is |", "| --- | --- |")
    for action in shown:
        yield f"| {_names(action)} | {plain(action.help or '')} |"


def _is_listed(action: argparse.Action) -> bool:
    hidden = (argparse._SubParsersAction, argparse._HelpAction)
    return action.help != argparse.SUPPRESS and not isinstance(action, hidden)


def _names(action: argparse.Action) -> str:
    names = [f"{name} {_value(action)}".strip() for name in action.option_strings] or [_value(action)]
    return ", ".join(f"`{name}`" for name in names)


def _value(action: argparse.Action) -> str:
    choices = f"{{{','.join(map(str, action.choices))}}}" if action.choices else ""
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    return "" if action.nargs == 0 else metavar or choices or action.dest.upper()
