"""Pages made from the program: `docs/commands.md` from its grammar, `docs/causes.md` from the catalogue."""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from cockpit.catalogue import CatalogueRow, Gate, TextPlace, Wording, by_cause
from cockpit.cli import build_parser
from cockpit.commands.man import commands
from cockpit.views.cause_page import LASTS

DOCS = Path(__file__).resolve().parents[2] / "docs"
_MADE: Final = "Made by `make docs`; a test compares."
_COUNTS: Final = {"?": "[{}]", "*": "[{} ...]", "+": "{} ...", "A...": "{} ...", "...": "{} ..."}
"""How `nargs` is written."""
_SPECIAL = re.compile(r"([\\`*_<>\[\]|])")


def pages() -> dict[str, str]:
    """File name in `docs/` -> its text."""
    made = {"commands.md": _commands(build_parser()), "causes.md": _causes()}
    return {name: "\n".join(lines) + "\n" for name, lines in made.items()}


def _commands(parser: argparse.ArgumentParser) -> Iterator[str]:
    yield from ("# Commands", "", f"Every command with its options, from its own grammar. {_MADE}")
    yield from ("", "Every command works as `kubectl cockpit ...`, too.", "", _plain(parser.epilog or ""))
    yield from ("", "## Options for the cluster", "", "They stand before or behind a command.")
    yield from _table(parser)
    for command in commands(parser):
        yield from ("", f"## {command.prog}", "", _sentence(command.description or ""), "", "```text")
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
        yield f"| {_names(action)} | {_plain(action.help or '')} |"


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


def _causes() -> Iterator[str]:
    rows = by_cause().values()
    yield from (
        "# Causes",
        "",
        f"Why a GPU job or pod waits or is broken: {len(rows)} causes, by the gate at which",
    )
    yield from (
        "the job is. `w` in the cockpit and `cockpit why` name one; `cockpit why --explain CAUSE` prints",
    )
    yield from (f"what is here. Words in braces are names and numbers of the case. {_MADE}",)
    for gate in Gate:
        yield from ("", f"## {_sentence(gate.value)[:-1]}")
        for row in rows:
            if row.gate is gate:
                yield from _cause(row)


def _cause(row: CatalogueRow) -> Iterator[str]:
    yield from ("", f"### {row.cause}", "", _sentence(row.meaning), "")
    sentences = [said.words for said in row.says.values()] + [_of_nodes(wording) for wording in row.wordings]
    yield from (f"- It reads: {_code(words)}" for words in dict.fromkeys(sentences) if words)
    yield f"- What helps ({row.mender.value}): {_plain(row.remedy.sentence)}"
    yield f"- It {LASTS[row.permanence]}."
    yield f"- Seen in: {_plain(row.where)}."
    yield f"- Source: {_plain(row.source)}"


def _of_nodes(wording: Wording) -> str:
    """Of what the scheduler counts nodes for, the whole sentence."""
    return f"1 node {wording.words}" if wording.place is TextPlace.NODES else wording.words


def _sentence(text: str) -> str:
    plain = _plain(text).rstrip(".")
    return f"{plain[:1].upper()}{plain[1:]}."


def _plain(text: str) -> str:
    """Text in which Markdown finds no mark."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _code(text: str) -> str:
    return f"`` {text} ``" if "`" in text else f"`{text}`"
