"""The command line: parses, and hands over to one module of `cockpit.commands`.

Nothing else of the cockpit is imported before it is known what is asked, so that `cockpit --help` answers at
once. Exit codes: 0 done, 1 the cluster refused, 2 bad input or no connection. Failures are one sentence on
standard error, never a traceback.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from cockpit import __version__
from cockpit.cli_values import seconds, speed, warm, whole
from cockpit.errors import CockpitError

KINDS = ("overview", "nodes", "gpus", "pods", "jobs", "queues", "engines", "pools", "events")
OUTPUTS = ("table", "json", "yaml")
_INTERRUPTED = 130


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence instead of a page of usage."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        more.setdefault("allow_abbrev", False)
        super().__init__(*arguments, **more)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"cockpit: {message}; see {self.prog} --help\n")


def _globals() -> argparse.ArgumentParser:
    # SUPPRESS: an option may stand before or after the command, and the one that was given counts.
    shared = _Parser(add_help=False, argument_default=argparse.SUPPRESS)
    group = shared.add_argument_group("cluster")
    group.add_argument(
        "--context", metavar="NAME", help="context of the kubeconfig (default: its current one)"
    )
    group.add_argument("-n", "--namespace", metavar="NAME", help="only this namespace (default: all)")
    group.add_argument("-A", "--all-namespaces", action="store_true", help="all, whatever is configured")
    group.add_argument("--kubeconfig", metavar="FILE", help="default: $KUBECONFIG, then ~/.kube/config")
    group.add_argument("--prometheus-url", metavar="URL", help="where GPU metrics are (default: looked for)")
    group.add_argument("--write", action="store_true", help="allow changes; without it nothing is changed")
    return shared


def build_parser() -> argparse.ArgumentParser:
    """The whole grammar; each command names its function as `module:function` in `command`."""
    shared = _globals()
    parser = _Parser(
        prog="cockpit",
        description="A terminal cockpit for GPU clusters on Kubernetes; without a command the screens.",
        epilog="Exit codes: 0 done, 1 the cluster refused, 2 bad input or no connection.",
        parents=[shared],
    )
    parser.add_argument("--version", action="version", version=f"cockpit {__version__}")
    parser.set_defaults(command="screens:run")
    nouns = parser.add_subparsers(title="commands", metavar="COMMAND")
    _get(nouns, shared)
    _top(nouns, shared)
    _job(nouns, shared)
    _queue(nouns, shared)
    _pool(nouns, shared)
    _template(nouns, shared)
    _audit(nouns, shared)
    _demo(nouns, shared)
    return parser


def _command(group: Any, name: str, shared: argparse.ArgumentParser, what: str, command: str) -> Any:
    parser = group.add_parser(name, help=what, description=what, parents=[shared])
    parser.set_defaults(command=command)
    return parser


def _noun(nouns: Any, name: str, what: str) -> Any:
    parser = nouns.add_parser(name, help=what, description=what)
    return parser.add_subparsers(title="verbs", metavar="VERB", required=True)


def _output(parser: Any) -> None:
    parser.add_argument("-o", "--output", choices=OUTPUTS, default="table", help="default: table")


def _waiting(parser: Any) -> None:
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=30.0,
        metavar="SECONDS",
        help="patience for the cluster (default: 30)",
    )


def _get(nouns: Any, shared: argparse.ArgumentParser) -> None:
    parser = _command(nouns, "get", shared, "print what a screen shows", "get:run")
    parser.add_argument("kind", choices=KINDS, metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--filter", default="", metavar="TEXT", help="as typed after / on the screen")
    parser.add_argument("--sort", default="", metavar="COLUMN", help="order by this column")
    parser.add_argument("--descending", action="store_true", help="largest first")
    _output(parser)
    _waiting(parser)


def _top(nouns: Any, shared: argparse.ArgumentParser) -> None:
    parser = _command(nouns, "top", shared, "print what works hardest now", "top:run")
    parser.add_argument("kind", choices=("node", "job", "gpu"), metavar="KIND", help="node, job, gpu")
    parser.add_argument("--watch", action="store_true", help="again and again, until interrupted")
    parser.add_argument(
        "--interval", type=seconds, default=5.0, metavar="SECONDS", help="between rounds (default: 5)"
    )
    parser.add_argument("--most", type=whole, default=0, metavar="COUNT", help="so many rows (default: all)")
    parser.add_argument("--filter", default="", metavar="TEXT", help="as typed after / on the screen")
    parser.add_argument("--sort", default="", metavar="COLUMN", help="another order (default: the busiest)")
    parser.add_argument("--descending", action="store_true", help="with --sort: the largest first")
    _output(parser)
    _waiting(parser)


def _acting(parser: Any) -> None:
    parser.add_argument("--yes", action="store_true", help="do not ask")
    _waiting(parser)


def _job(nouns: Any, shared: argparse.ArgumentParser) -> None:
    verbs = _noun(nouns, "job", "submit, hold, resize and kill training jobs")
    submit = _command(verbs, "submit", shared, "make a job from a template", "job:submit")
    submit.add_argument("template", metavar="TEMPLATE", help="see cockpit template list")
    submit.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter; repeat"
    )
    for name, metavar in (
        ("name", "NAME"), ("workers", "COUNT"), ("gpus", "COUNT"), ("image", "IMAGE"),
        ("command", "COMMAND"), ("queue", "QUEUE"),
    ):  # fmt: skip
        submit.add_argument(f"--{name}", dest=f"set_{name}", metavar=metavar, help=f"short for --set {name}=")
    submit.add_argument(
        "--engine",
        default="",
        metavar="ENGINE",
        help="kueue, coscheduling[:SCHEDULER], volcano[:QUEUE], kai:QUEUE, native, none; else as detected",
    )
    submit.add_argument("--dry-run", action="store_true", help="show the manifest and the server's verdict")
    _acting(submit)
    _smoke(verbs, shared)
    _enter(verbs, shared)
    _board(verbs, shared)
    _logs(verbs, shared)
    _on_jobs(verbs, shared)


def _smoke(verbs: Any, shared: argparse.ArgumentParser) -> None:
    smoke = _command(verbs, "smoke", shared, "let a node's cards answer, and say pass or fail", "smoke:run")
    smoke.add_argument("node", metavar="NODE")
    smoke.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of smoke-test; repeat"
    )
    for name, metavar in (("name", "NAME"), ("gpus", "COUNT"), ("image", "IMAGE"), ("command", "COMMAND")):
        smoke.add_argument(f"--{name}", dest=f"set_{name}", metavar=metavar, help=f"short for --set {name}=")
    _dry_run(smoke)
    _acting(smoke)


def _enter(verbs: Any, shared: argparse.ArgumentParser) -> None:
    enter = _command(verbs, "exec", shared, "run a command in a member of a job, or a shell", "enter:run")
    enter.usage = "%(prog)s [options] NAME [-- COMMAND ...]"
    enter.add_argument("name", metavar="NAME", help="name, namespace/name or kind/namespace/name")
    enter.add_argument("--rank", type=whole, metavar="N", help="which member (default: the first that runs)")
    enter.add_argument("--container", default="", metavar="NAME", help="where a pod has several")
    _waiting(enter)


def _board(verbs: Any, shared: argparse.ArgumentParser) -> None:
    what = "a job's TensorBoard, or another port of a member, at a port of this machine"
    board = _command(verbs, "tensorboard", shared, what, "board:run")
    board.add_argument("name", metavar="NAME", help="name, namespace/name or kind/namespace/name")
    board.add_argument("--rank", type=whole, metavar="N", help="this member (default: who serves it)")
    board.add_argument("--port", type=whole, metavar="PORT", help="of the pod (default: as its pod tells)")
    board.add_argument(
        "--local-port", type=whole, default=0, metavar="PORT", help="of this machine (default: any)"
    )
    _waiting(board)


def _logs(verbs: Any, shared: argparse.ArgumentParser) -> None:
    logs = _command(verbs, "logs", shared, "print the logs of all members together", "logs:run")
    add = logs.add_argument
    add("name", metavar="NAME", help="name, namespace/name or kind/namespace/name")
    add("-f", "--follow", action="store_true", help="go on until the job ends, or until interrupted")
    add("--since", default="", metavar="AGE", help="30s, 10m, 2h: only lines since then")
    add("--tail", type=whole, metavar="COUNT", help="so many last lines of each (default: 20 to 1000)")
    add("--previous", action="store_true", help="the run before the last restart")
    add("--grep", action="append", default=[], metavar="RE", help="only lines that match; repeat")
    add("--not", dest="unwanted", action="append", default=[], metavar="RE", help="no lines that match")
    add("--rank", action="append", default=[], metavar="N", help="0, 0-3,7 or launcher: only these members")
    add("--container", default="", metavar="NAME", help="where pods have several")
    add("--stream", choices=("stdout", "stderr"), default="", help="this one alone, where the server can")
    add("--times", action="store_true", help="the moment of each line, UTC")
    add("--save", default="", metavar="FILE", help="to a new file instead")
    _waiting(logs)


def _on_jobs(verbs: Any, shared: argparse.ArgumentParser) -> None:
    """Verbs on one job or many that are there."""

    def verb(name: str, what: str) -> Any:
        parser = _command(verbs, name, shared, what, f"lifecycle:{name}")
        parser.add_argument(
            "names", nargs="*", metavar="NAME", help="name, namespace/name or kind/namespace/name; several"
        )
        parser.add_argument(
            "--filter", default="", metavar="TEXT", help="as typed after / on the jobs screen"
        )
        _dry_run(parser)
        _acting(parser)
        return parser

    verb("kill", "delete jobs and their pods")
    verb("suspend", "hold jobs until they are resumed, as their engine wants it")
    verb("resume", "let held jobs go on")
    retry = verb("retry", "run failed jobs once more; have a waiting gang looked at now")
    retry.add_argument(
        "--memory", default="", metavar="QUANTITY", help="(default: half as much again after OOM)"
    )
    scale = verb("scale", "give an elastic job another number of workers")
    scale.add_argument("--to", required=True, type=whole, metavar="COUNT", help="wanted number of workers")
    prioritise = verb("prioritise", "give jobs another priority class or queue")
    prioritise.add_argument("--priority", default="", metavar="CLASS", help="Kueue's or the pods' class")
    prioritise.add_argument("--queue", dest="to_queue", default="", metavar="QUEUE", help="a LocalQueue")
    prune = verb("prune", "delete jobs that ended long ago")
    prune.add_argument("--older-than", required=True, metavar="AGE", help="12h, 7d ... since their end")
    clone = _command(verbs, "clone", shared, "make a job like one that is there", "lifecycle:clone")
    clone.add_argument("source", metavar="NAME", help="name, namespace/name or kind/namespace/name")
    clone.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="what shall differ; repeat"
    )
    for name, metavar in (
        ("name", "NAME"), ("workers", "COUNT"), ("gpus", "COUNT"), ("image", "IMAGE"),
        ("command", "COMMAND"), ("queue", "QUEUE"),
    ):  # fmt: skip
        clone.add_argument(f"--{name}", dest=f"set_{name}", metavar=metavar, help=f"short for --set {name}=")
    _dry_run(clone)
    _acting(clone)


def _dry_run(parser: Any) -> None:
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would change, and the server's verdict"
    )


def _queue(nouns: Any, shared: argparse.ArgumentParser) -> None:
    verbs = _noun(nouns, "queue", "stop and resume queues")
    for name, what in (("stop", "stop a queue for new jobs"), ("resume", "let a stopped queue admit again")):
        parser = _command(verbs, name, shared, what, f"queue:{name}")
        parser.add_argument(
            "name", metavar="NAME", help="namespace/name, or a ClusterQueue; see cockpit get queues"
        )
        if name == "stop":
            parser.add_argument("--drain", action="store_true", help="also take off what it admitted")
        _dry_run(parser)
        _acting(parser)


def _pool(nouns: Any, shared: argparse.ArgumentParser) -> None:
    verbs = _noun(nouns, "pool", "resize pools of nodes")
    scale = _command(verbs, "scale", shared, "set the number of nodes of a pool", "pool:scale")
    scale.add_argument("name", metavar="NAME", help="see cockpit get pools")
    scale.add_argument("--to", required=True, metavar="COUNT", help="wanted number of nodes")
    scale.add_argument(
        "--dry-run", action="store_true", help="show what would change, and the server's verdict"
    )
    _acting(scale)


def _demo(nouns: Any, shared: argparse.ArgumentParser) -> None:
    demo = _command(nouns, "demo", shared, "open the screens on an embedded cluster", "demo:run")
    demo.add_argument(
        "--scenario", default="default", metavar="NAME", help="see --list; or a file (default: default)"
    )
    demo.add_argument("--list", action="store_true", help="the scenarios that come along")
    demo.add_argument("--speed", type=speed, default=1.0, metavar="N", help="how much faster than the wall")
    demo.add_argument("--seed", type=whole, default=1, metavar="S", help="the same seed, the same history")
    demo.add_argument(
        "--warm",
        type=warm,
        default=30.0,
        metavar="SECONDS",
        help="how much has happened already (default: 30)",
    )
    demo.add_argument("--serve", action="store_true", help="print KUBECONFIG=PATH and stay, without screens")
    demo.add_argument(
        "--port", type=whole, default=0, metavar="PORT", help="of the API server (default: any)"
    )
    demo.add_argument("--folder", default="", metavar="DIR", help="keep kubeconfig and logs there")
    demo.add_argument("--read-only", action="store_true", help="begin read-only, as on a real cluster")


def _template(nouns: Any, shared: argparse.ArgumentParser) -> None:
    verbs = _noun(nouns, "template", "look at job templates")
    listing = _command(verbs, "list", shared, "list the templates", "template:listing")
    _output(listing)
    show = _command(verbs, "show", shared, "show the parameters and the file of a template", "template:show")
    show.add_argument("name", metavar="NAME")
    choices = _command(verbs, "choices", shared, "what the cluster offers for a template", "choices:show")
    choices.add_argument("name", metavar="NAME")
    choices.add_argument("parameter", nargs="?", default="", metavar="PARAMETER", help="(default: all)")
    _waiting(choices)
    new = _command(verbs, "new", shared, "write a template of one's own", "template:new")
    new.add_argument("name", metavar="NAME")
    new.add_argument(
        "--from", dest="source", default="mpijob", metavar="TEMPLATE", help="the one to begin with (mpijob)"
    )
    new.add_argument(
        "--folder", default="", metavar="DIR", help="where (default: the first of template-folders)"
    )
    lint = _command(verbs, "lint", shared, "check templates", "template:lint_all")
    lint.add_argument(
        "files", nargs="*", metavar="FILE", help="files to check (default: all known templates)"
    )


def _audit(nouns: Any, shared: argparse.ArgumentParser) -> None:
    verbs = _noun(nouns, "audit", "read the audit lines of this host, and repeat what they tell")
    for name in ("list", "show"):
        show = _command(verbs, name, shared, "print what was changed from here, newest last", "audit:show")
        show.add_argument(
            "--last", type=int, default=50, metavar="COUNT", help="how many lines (default: 50)"
        )
        _output(show)
    apply = _command(verbs, "apply", shared, "repeat recorded actions on another cluster", "audit:apply")
    apply.set_defaults(parse=lambda words: build_parser().parse_args(words))
    apply.add_argument("file", metavar="FILE", help="audit lines, one JSON object each")
    _dry_run(apply)
    _acting(apply)


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options. What follows `--` behind `job exec` is a command's own words, whatever they look like."""
    parser = build_parser()
    own, words = list(arguments), list[str]()
    end = own.index("--") if "--" in own else len(own)
    if "exec" in own[:end]:
        own, words = own[:end], own[end + 1 :]
    options = parser.parse_args(own)
    if words and options.command != "enter:run":
        parser.error("only job exec takes a command behind --")
    options.words = words
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the answer is the exit code."""
    options = _parse(sys.argv[1:] if arguments is None else list(arguments))
    module_name, _, function_name = options.command.partition(":")
    try:
        module = importlib.import_module(f"cockpit.commands.{module_name}")
        run: Callable[[argparse.Namespace], int] = getattr(module, function_name)
        code = run(options)
        sys.stdout.flush()
        return code
    except CockpitError as error:
        return _fail(error.sentence, error.exit_code)
    except KeyboardInterrupt:
        return _fail("interrupted", _INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our output left (`| head`): not worth a word. The interpreter must not flush again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # noqa: BLE001 - the last resort: a person gets a sentence, the file gets the rest
        return _fail(_unexpected(error), 2)


def _fail(sentence: str, code: int) -> int:
    print(f"cockpit: {sentence}", file=sys.stderr)
    return code


def _unexpected(error: Exception) -> str:
    from cockpit.keep.crashes import note_crash

    kept = note_crash(error)
    what = f"an error of the cockpit itself ({type(error).__name__})"
    return f"{what}; details are in {kept}" if kept else f"{what}; details could not be kept: {error}"
