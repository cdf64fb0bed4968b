"""The command line: parses, and hands over to one module of `cockpit.commands`.

Nothing else of the cockpit is imported before it is known what is asked, so that `cockpit --help` answers at
once. Exit codes: 0 done, 1 the cluster refused, 2 bad input or no connection, 3 something needs a human.
Failures are one sentence on standard error, never a traceback.
"""

import argparse
import contextlib
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

from cockpit import __version__, memory_guard
from cockpit.cli_parts import (
    DRY_RUN,
    Parser,
    add_command,
    add_confirmation,
    add_noun,
    add_output,
    add_timeout,
    without_help,
)
from cockpit.cli_values import FINDINGS_OUT, PROMETHEUS, seconds, speed, warm, whole
from cockpit.cli_verbs import add_nouns_with_verbs
from cockpit.errors import CockpitError
from cockpit.last_resort import note_what_escapes, unexpected, was_interrupted
from cockpit.standard_streams import for_ears, give_up_output, guard_standard_streams, is_plain

KINDS = ("overview", "nodes", "gpus", "pods", "jobs", "queues", "engines", "pools", "events")
_INTERRUPTED = 130


def _globals() -> argparse.ArgumentParser:
    # SUPPRESS: an option may stand before or after the command, and the one that was given counts.
    shared = Parser(add_help=False, argument_default=argparse.SUPPRESS)
    group = shared.add_argument_group("cluster")
    group.add_argument("--context", metavar="NAME", help="kubeconfig context (default: its current one)")
    group.add_argument("--contexts", metavar="A,B,C", help="several clusters in one list")
    group.add_argument("-n", "--namespace", metavar="NAME", help="only this namespace (default: all)")
    whole_cluster = "all namespaces, overriding the configuration"
    group.add_argument("-A", "--all-namespaces", action="store_true", help=whole_cluster)
    group.add_argument("--kubeconfig", metavar="FILE", help="default: $KUBECONFIG, then ~/.kube/config")
    for name, metavar, what in PROMETHEUS:
        group.add_argument(f"--prometheus-{name}", metavar=metavar, help=what)
    group.add_argument("--write", action="store_true", help="allow changes (default: read-only)")
    return shared


def _program() -> str:
    """What a person typed: kubectl starts its plugin as `kubectl-cockpit`."""
    return "kubectl cockpit" if os.path.basename(sys.argv[0]) == "kubectl-cockpit" else "cockpit"


def build_parser(*, is_whole: bool = False) -> argparse.ArgumentParser:
    """The whole grammar; each command names its function as `module:function` in `command`. `is_whole`: each
    command lists the options for the cluster too, as completion needs it."""
    shared = _globals() if is_whole else without_help(_globals())
    parser = Parser(
        prog=_program(),
        description="A terminal cockpit for GPU clusters on Kubernetes;"
        " without a command, opens the full-screen interface.",
        epilog="Exit codes: 0 done, 1 the cluster refused, 2 bad input or no connection;"
        " why and triage: 3 something needs a human.",
        parents=[_globals()],
    )
    parser.add_argument("--version", action="version", version=f"cockpit {__version__}")
    parser.set_defaults(command="screens:run")
    nouns = parser.add_subparsers(title="commands", metavar="COMMAND")
    _get(nouns, shared)
    _top(nouns, shared)
    _fleet(nouns, shared)
    _why(nouns, shared)
    _triage(nouns, shared)
    add_nouns_with_verbs(nouns, shared)
    _template(nouns, shared)
    _audit(nouns, shared)
    doctor = add_command(
        nouns, "doctor", shared, "check terminal, cluster, rights, engines and metrics", "doctor:run"
    )
    add_output(doctor)
    add_timeout(doctor)
    _config(nouns, shared)
    _demo(nouns, shared)
    _shell(nouns)
    return parser


def _get(nouns: Any, shared: argparse.ArgumentParser) -> None:
    parser = add_command(nouns, "get", shared, "print the rows of a screen", "get_clusters:run")
    parser.add_argument("kind", choices=KINDS, metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--filter", default="", metavar="TEXT", help="filter, as typed after / on the screen")
    parser.add_argument("--sort", default="", metavar="COLUMN", help="sort by this column")
    parser.add_argument("--descending", action="store_true", help="sort in descending order")
    watched = "print rows as they change, until interrupted; a table is printed again"
    parser.add_argument("-w", "--watch", action="store_true", help=watched)
    every = "shortest time between two looks, with --watch (default: 1)"
    parser.add_argument("--interval", type=seconds, default=1.0, metavar="SECONDS", help=every)
    add_output(parser)
    add_timeout(parser)


def _top(nouns: Any, shared: argparse.ArgumentParser) -> None:
    parser = add_command(nouns, "top", shared, "show the busiest nodes, jobs or GPUs", "top:run")
    parser.add_argument("kind", choices=("node", "job", "gpu"), metavar="KIND", help="node, job, gpu")
    parser.add_argument("--watch", action="store_true", help="refresh until interrupted")
    parser.add_argument(
        "--interval", type=seconds, default=5.0, metavar="SECONDS", help="refresh interval (default: 5)"
    )
    parser.add_argument(
        "--limit", type=whole, default=0, metavar="COUNT", help="show at most COUNT rows (default: all)"
    )
    parser.add_argument("--filter", default="", metavar="TEXT", help="filter, as typed after / on the screen")
    parser.add_argument(
        "--sort", default="", metavar="COLUMN", help="sort by this column (default: busiest first)"
    )
    parser.add_argument("--descending", action="store_true", help="sort in descending order, with --sort")
    add_output(parser)
    add_timeout(parser)


def _fleet(nouns: Any, shared: argparse.ArgumentParser) -> None:
    what = "show nodes needed, the largest gangs that fit, idle GPUs by owner and lost ones"
    parser = add_command(nouns, "fleet", shared, what, "fleet:run")
    add_output(parser)
    add_timeout(parser)


def _why(nouns: Any, shared: argparse.ArgumentParser) -> None:
    what = "explain why something waits or is broken, and what would start it"
    parser = add_command(nouns, "why", shared, what, "why:run")
    about = "job, gang, pod, node, card (card/NODE/INDEX), queue or pool; or any kind as kubectl prints it"
    parser.add_argument("subject", nargs="*", metavar="KIND/NAME", help=about)
    parser.add_argument("--explain", default="", metavar="CAUSE", help="cause to describe, without a cluster")
    report = "new file for the evidence, with names removed"
    parser.add_argument("--report", default="", metavar="FILE", help=report)
    add_output(parser)
    add_timeout(parser)


def _triage(nouns: Any, shared: argparse.ArgumentParser) -> None:
    parser = add_command(
        nouns, "triage", shared, "list what needs a human, the most urgent first", "triage:run"
    )
    parser.add_argument("--watch", action="store_true", help="print again when it changes, until interrupted")
    every = "refresh interval in seconds (default: 5)"
    parser.add_argument("--interval", type=seconds, default=5.0, metavar="SECONDS", help=every)
    parser.add_argument(
        "--each", action="store_true", help="a row for each object, also where many are alike"
    )
    sent = parser.add_argument_group("for others, with --watch (else as configured)")
    for name, metavar, what in FINDINGS_OUT:
        sent.add_argument(f"--{name}", default="", metavar=metavar, help=what)
    more = "header of each request, 'NAME: VALUE' or @FILE; repeatable"
    sent.add_argument("--header", action="append", default=[], metavar="HEADER", help=more)
    add_output(parser)
    add_timeout(parser)


def _shell(nouns: Any) -> None:
    what = "print a script that completes commands and names"
    parser = nouns.add_parser("completion", help=what, description=what, epilog=_COMPLETION)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="bash, zsh, fish")
    parser.set_defaults(command="completion:run", whole_parser=lambda: build_parser(is_whole=True))
    what = "print the manual page: cockpit man | man -l -"
    nouns.add_parser("man", help=what, description=what).set_defaults(command="man:run", grammar=build_parser)


_COMPLETION = """to use it:
  bash: source <(cockpit completion bash)       in ~/.bashrc
  zsh:  cockpit completion zsh > "${fpath[1]}/_cockpit"
  fish: cockpit completion fish > ~/.config/fish/completions/cockpit.fish"""


def _config(nouns: Any, shared: argparse.ArgumentParser) -> None:
    verbs = add_noun(nouns, "config", "write, show and check the configuration")
    what = "write a configuration file that has every setting as a comment"
    new = add_command(verbs, "init", shared, what, "config:init")
    show = add_command(verbs, "show", shared, "print each setting and where it comes from", "config:show")
    add_output(show)
    check = add_command(verbs, "validate", shared, "check the configuration file", "config:validate")
    for parser in (new, check):
        own = "this file (default: config.toml in the configuration folder)"
        parser.add_argument("--file", default="", metavar="FILE", help=own)
    add_command(verbs, "schema", shared, "print the JSON Schema of the configuration file", "config:schema")


def _demo(nouns: Any, shared: argparse.ArgumentParser) -> None:
    demo = add_command(nouns, "demo", shared, "open the screens on an embedded cluster", "demo:run")
    demo.add_argument(
        "--scenario",
        default="default",
        metavar="NAME",
        help="a name from --list, or a file (default: default)",
    )
    demo.add_argument("--list", action="store_true", help="list the built-in scenarios")
    demo.add_argument(
        "--allow-local",
        action="store_true",
        help="let images local/... of a scenario file run commands on this machine",
    )
    demo.add_argument(
        "--speed", type=speed, default=1.0, metavar="N", help="time factor (10: ten times faster)"
    )
    demo.add_argument(
        "--seed",
        type=whole,
        default=1,
        metavar="S",
        help="random seed; the same seed replays the same history",
    )
    demo.add_argument(
        "--warm",
        type=warm,
        default=30.0,
        metavar="SECONDS",
        help="seconds of simulated history at start (default: 30)",
    )
    demo.add_argument(
        "--serve", action="store_true", help="print KUBECONFIG=PATH and keep running, without screens"
    )
    demo.add_argument(
        "--port",
        type=whole,
        default=0,
        metavar="PORT",
        help="port of the API server (default: any free port)",
    )
    demo.add_argument("--folder", default="", metavar="DIR", help="write kubeconfig and logs to this folder")
    demo.add_argument("--read-only", action="store_true", help="start read-only, as on a real cluster")
    guided = "three minutes in the demo: submit a job, read why it waits, start it, kill it"
    nouns.add_parser("tour", help=guided, description=guided).set_defaults(command="demo:tour")


def _template(nouns: Any, shared: argparse.ArgumentParser) -> None:
    verbs = add_noun(nouns, "template", "list, show, create and check job templates")
    listing = add_command(verbs, "list", shared, "list the templates", "template:listing")
    add_output(listing)
    show = add_command(verbs, "show", shared, "show a template: its parameters and its file", "template:show")
    show.add_argument("name", metavar="NAME")
    choices = add_command(
        verbs, "choices", shared, "list what the cluster offers for a template's parameters", "choices:show"
    )
    choices.add_argument("name", metavar="NAME")
    choices.add_argument(
        "parameter", nargs="?", default="", metavar="PARAMETER", help="only this parameter (default: all)"
    )
    add_timeout(choices)
    new = add_command(verbs, "new", shared, "create a template of your own from another one", "template:new")
    new.add_argument("name", metavar="NAME")
    new.add_argument(
        "--from",
        dest="source",
        default="mpijob",
        metavar="TEMPLATE|FILE",
        help="template, or a manifest of which one is made (default: mpijob)",
    )
    new.add_argument(
        "--folder", default="", metavar="DIR", help="target folder (default: the first of template-folders)"
    )
    add_timeout(new)
    lint = add_command(
        verbs,
        "lint",
        shared,
        "check templates; with --context also that the cluster serves their kinds",
        "template:lint_all",
    )
    add_timeout(lint)
    lint.add_argument(
        "files", nargs="*", metavar="FILE", help="files to check (default: all known templates)"
    )


def _audit(nouns: Any, shared: argparse.ArgumentParser) -> None:
    verbs = add_noun(nouns, "audit", "show this host's audit log and replay its entries")
    for name in ("list", "show"):
        show = add_command(
            verbs, name, shared, "print the changes made from this host, newest last", "audit:show"
        )
        show.add_argument(
            "--last", type=int, default=50, metavar="COUNT", help="show the last COUNT changes (default: 50)"
        )
        add_output(show)
    restore = add_command(
        verbs, "restore", shared, "create a job again that was deleted to be recreated", "restore:run"
    )
    restore.add_argument("id", metavar="ID", help="id of the audit lines, see cockpit audit list")
    add_confirmation(restore, dry_run=DRY_RUN)
    known = add_command(
        verbs, "acknowledge", shared, "note that a broken-off write is known", "left_over:run"
    )
    known.add_argument("ids", nargs="+", metavar="ID", help="audit IDs, from the JSON output of triage")
    add_timeout(known)
    apply = add_command(verbs, "apply", shared, "repeat recorded actions on another cluster", "audit:apply")
    apply.set_defaults(parse=lambda words: build_parser().parse_args(words))
    apply.add_argument("file", metavar="FILE", help="audit lines, one JSON object per line")
    add_confirmation(apply, dry_run=DRY_RUN)


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The parsed options. Words after the `--` of `job exec` are its command, not options."""
    parser = build_parser()
    own, words = list(arguments), list[str]()
    end = own.index("--") if "--" in own else len(own)
    if "exec" in own[:end]:
        own, words = own[:end], own[end + 1 :]
    options = parser.parse_args(own)
    if words and options.command != "enter:run":
        parser.error("only `job exec` accepts a command after --")
    options.words = words
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the answer is the exit code."""
    try:
        guard_standard_streams()
        memory_guard.start()
        code = _run(arguments)
        return _fail("", 2) if memory_guard.shortage() else code
    except CockpitError as error:
        return _fail("\ncockpit: ".join(error.sentences), error.exit_code)
    except KeyboardInterrupt:
        return _fail("interrupted", _INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has left (`| head`): no error.
        give_up_output()
        return 0
    except Exception as error:  # noqa: BLE001 - the last resort: a person gets a sentence, the file gets the rest
        return _fail(unexpected(error), _INTERRUPTED if was_interrupted(error) else 2)


def _run(arguments: Sequence[str] | None) -> int:
    """Parse and run; what was printed is written in here, where an output that takes nothing is told."""
    try:
        options = _parse(sys.argv[1:] if arguments is None else list(arguments))
        module_name, _, function_name = options.command.partition(":")
        module = importlib.import_module(f"cockpit.commands.{module_name}")
        note_what_escapes()
        for_ears(is_wanted=is_plain() and getattr(options, "output", "table") == "table")
        code: int = getattr(module, function_name)(options)
    except SystemExit:
        sys.stdout.flush()
        raise
    except BaseException:
        with contextlib.suppress(OSError, CockpitError):
            sys.stdout.flush()
        raise
    sys.stdout.flush()
    return code


def _fail(sentence: str, code: int) -> int:
    """Tell why it ends. What was not printed until now never will be: the interpreter must not try again."""
    if short := memory_guard.shortage():
        sentence, code = short, 2
    give_up_output()
    print(f"cockpit: {sentence}", file=sys.stderr)
    return code
