"""Parts that every command of the grammar is built from: the parser, a command, a noun, common options."""

import argparse
from typing import Any, NoReturn

from cockpit.cli_values import seconds
from cockpit.mask import clean_message

OUTPUTS = ("table", "json", "yaml", "csv")


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence instead of a page of usage."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        more.setdefault("allow_abbrev", False)
        super().__init__(*arguments, **more)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"cockpit: {clean_message(message)}; see {self.prog} --help\n")


def add_command(group: Any, name: str, shared: argparse.ArgumentParser, what: str, command: str) -> Any:
    """A command of that group, which takes the options of `shared` too; `command` is `module:function`."""
    parser = group.add_parser(
        name, help=what, description=what, parents=[shared], epilog="Options for the cluster: cockpit --help."
    )
    parser.set_defaults(command=command)
    return parser


def without_help(shared: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """The same options, left out of the help of the commands that take them."""
    for action in shared._actions:
        action.help = argparse.SUPPRESS
    return shared


def add_noun(nouns: Any, name: str, what: str) -> Any:
    parser = nouns.add_parser(name, help=what, description=what)
    return parser.add_subparsers(title="verbs", metavar="VERB", required=True)


def add_output(parser: Any) -> None:
    parser.add_argument("-o", "--output", choices=OUTPUTS, default="table", help="default: table")


def add_timeout(parser: Any) -> None:
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=30.0,
        metavar="SECONDS",
        help="seconds to wait for the cluster (default: 30)",
    )


DRY_RUN = "show what would change and the server's answer to a dry run"


def add_confirmation(parser: Any, *, dry_run: str = "") -> None:
    """Options of what changes the cluster; `dry_run` is the help of `--dry-run`, "" without it."""
    if dry_run:
        parser.add_argument("--dry-run", action="store_true", help=dry_run)
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    words = "with --yes: what has to be typed where work may end"
    parser.add_argument("--confirm", dest="verb_confirm", default="", metavar="TEXT", help=words)
    add_timeout(parser)
