"""`cockpit completion bash|zsh|fish`: a script for the shell, by shtab; names come from `complete_names`."""

import argparse
from collections.abc import Iterator
from typing import Any, Final

import shtab

from cockpit.commands.output import put_data

SHELLS: Final = ("bash", "zsh", "fish")
_NOUNS: Final = {"job": "jobs", "node": "nodes", "pool": "pools", "queue": "queues"}
_OPTIONS: Final = {
    "--context": "contexts",
    "--contexts": "contexts",
    "--namespace": "namespaces",
    "--explain": "causes",
    "--queue": "queues",
}
_METAVARS: Final = {"FILE": shtab.FILE, "DIR": shtab.DIRECTORY}


def run(options: argparse.Namespace) -> int:
    """Print the script of one shell."""
    put_data(script(options.whole_parser(), options.shell).rstrip("\n"))
    return 0


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """The completion script of that shell for this grammar."""
    for path, action in actions_of(parser):
        if (found := _completed(path, action)) is not None:
            action.complete = found  # type: ignore[attr-defined] # what shtab reads
    text: str = shtab.complete(parser, shell, preamble=_PREAMBLES[shell].replace("LATE", _LATE_SECONDS))
    return text


def actions_of(
    parser: argparse.ArgumentParser, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], argparse.Action]]:
    """Every option and positional, with the words of its command."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from actions_of(below, (*path, name))
        else:
            yield path, action


def _completed(path: tuple[str, ...], action: argparse.Action) -> Any:
    """What completes the value of an option or positional, None where nothing does."""
    for option in action.option_strings:
        if option in _OPTIONS:
            return _names(_OPTIONS[option])
    if action.metavar in _METAVARS:
        return _METAVARS[str(action.metavar)]
    if action.option_strings:
        return None
    if action.metavar == "TEMPLATE" or path[:1] == ("template",):
        return _names("templates") if action.dest in ("template", "name") and path[-1] != "new" else None
    if path == ("why",):
        return _names("subjects")
    return _names(_NOUNS[path[0]]) if path and path[0] in _NOUNS and action.dest != "template" else None


def _names(kind: str) -> dict[str, str]:
    return {
        "bash": f"_cockpit_names_{kind}",
        "zsh": f"_cockpit_names_{kind}",
        "fish": f"(_cockpit_names {kind})",
    }


_KINDS: Final = (*_NOUNS.values(), "contexts", "namespaces", "templates", "causes", "subjects")
# Names hold no character that a shell expands: complete_names prints no other. ARNs of EKS have colons.
# The wait for the first name is bounded, with the start of the interpreter in it; names come in one piece.
_BASH: Final = """
COMP_WORDBREAKS=${COMP_WORDBREAKS//:}
_cockpit_names() {
  local first
  { IFS= read -r -t LATE first && printf '%s\\n' "$first" && cat
  } < <(cockpit complete-names "$1" -- "${COMP_LINE:0:COMP_POINT}" "$2" 2>/dev/null)
}
"""
_ZSH: Final = """
_cockpit_names() {
  local first from
  local -a names
  exec {from}< <(cockpit complete-names $1 -- "$LBUFFER" "$PREFIX" 2>/dev/null)
  IFS= read -r -t LATE -u $from first && names=($first ${(f)"$(cat <&$from)"})
  exec {from}<&-
  compadd -- $names
}
"""
_FISH: Final = """
function _cockpit_names
    sh -c '(cockpit complete-names "$@" 2>/dev/null &) |
        if command -v timeout >/dev/null; then exec timeout LATE cat; else exec cat; fi' \
        sh $argv -- (commandline -c) (commandline -ct)
end
"""
_LATE_SECONDS: Final = "0.1"
"""The wait of a shell for the names; its own work before and after it is within the 300 ms, too."""
_PREAMBLES: Final = {
    "bash": _BASH
    + "".join(f'_cockpit_names_{kind}() {{ _cockpit_names {kind} "$1"; }}\n' for kind in _KINDS),
    "zsh": _ZSH + "".join(f"_cockpit_names_{kind}() {{ _cockpit_names {kind} }}\n" for kind in _KINDS),
    "fish": _FISH,
}
