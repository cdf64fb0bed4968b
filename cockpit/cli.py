"""The command line: parses, and hands over to one module of `cockpit.commands`.

Nothing else of the cockpit is imported before it is known what is asked, so that `cockpit --help` answers at
once. Exit codes: 0 done, 1 the cluster refused, 2 bad input or no connection, 3 something needs a human.
Failures are one sentence on standard error, never a traceback.
"""

import argparse
import contextlib
import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from cockpit import __version__, memory_guard
from cockpit.actions.verbs.registry import VERBS
from cockpit.actions.verbs.verb import NOUNS, Verb
from cockpit.cli_values import PROMETHEUS, EngineChoice, seconds, speed, warm, whole
from cockpit.errors import CockpitError
from cockpit.last_resort import note_what_escapes, unexpected, was_interrupted
from cockpit.mask import clean_message
from cockpit.standard_streams import give_up_output, guard_standard_streams

KINDS = ("overview", "nodes", "gpus", "pods", "jobs", "queues", "engines", "pools", "events")
OUTPUTS = ("table", "json", "yaml")
_INTERRUPTED = 130


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence instead of a page of usage."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        more.setdefault("allow_abbrev", False)
        super().__init__(*arguments, **more)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"cockpit: {clean_message(message)}; see {self.prog} --help\n")


def _globals() -> argparse.ArgumentParser:
    # SUPPRESS: an option may stand before or after the command, and the one that was given counts.
    shared = _Parser(add_help=False, argument_default=argparse.SUPPRESS)
    group = shared.add_argument_group("cluster")
    current = "context of the kubeconfig (default: its current one)"
    group.add_argument("--context", metavar="NAME", help=current)
    group.add_argument("-n", "--namespace", metavar="NAME", help="only this namespace (default: all)")
    whole_cluster = "all namespaces, overriding the configuration"
    group.add_argument("-A", "--all-namespaces", action="store_true", help=whole_cluster)
    group.add_argument("--kubeconfig", metavar="FILE", help="default: $KUBECONFIG, then ~/.kube/config")
    for name, metavar, what in PROMETHEUS:
        group.add_argument(f"--prometheus-{name}", metavar=metavar, help=what)
    group.add_argument("--write", action="store_true", help="allow changes (default: read-only)")
    return shared


def build_parser() -> argparse.ArgumentParser:
    """The whole grammar; each command names its function as `module:function` in `command`."""
    shared = _globals()
    parser = _Parser(
        prog="cockpit",
        description="A terminal cockpit for GPU clusters on Kubernetes;"
        " without a command, opens the full-screen interface.",
        epilog="Exit codes: 0 done, 1 the cluster refused, 2 bad input or no connection;"
        " why and triage: 3 something needs a human.",
        parents=[shared],
    )
    parser.add_argument("--version", action="version", version=f"cockpit {__version__}")
    parser.set_defaults(command="screens:run")
    nouns = parser.add_subparsers(title="commands", metavar="COMMAND")
    _get(nouns, shared)
    _top(nouns, shared)
    _fleet(nouns, shared)
    _why(nouns, shared)
    _triage(nouns, shared)
    _nouns_with_verbs(nouns, shared)
    _template(nouns, shared)
    _audit(nouns, shared)
    doctor = _command(
        nouns, "doctor", shared, "check terminal, cluster, rights, engines and metrics", "doctor:run"
    )
    _output(doctor)
    _waiting(doctor)
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
        help="seconds to wait for the cluster (default: 30)",
    )


def _get(nouns: Any, shared: argparse.ArgumentParser) -> None:
    parser = _command(nouns, "get", shared, "print the rows of a screen", "get:run")
    parser.add_argument("kind", choices=KINDS, metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--filter", default="", metavar="TEXT", help="filter, as typed after / on the screen")
    parser.add_argument("--sort", default="", metavar="COLUMN", help="sort by this column")
    parser.add_argument("--descending", action="store_true", help="sort in descending order")
    _output(parser)
    _waiting(parser)


def _top(nouns: Any, shared: argparse.ArgumentParser) -> None:
    parser = _command(nouns, "top", shared, "show the busiest nodes, jobs or GPUs", "top:run")
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
    _output(parser)
    _waiting(parser)


def _fleet(nouns: Any, shared: argparse.ArgumentParser) -> None:
    what = "show nodes needed, the largest gangs that fit, idle GPUs by owner and lost ones"
    parser = _command(nouns, "fleet", shared, what, "fleet:run")
    _output(parser)
    _waiting(parser)


def _why(nouns: Any, shared: argparse.ArgumentParser) -> None:
    what = "explain why something waits or is broken, and what would start it"
    parser = _command(nouns, "why", shared, what, "why:run")
    about = "job, gang, pod, node, card (card/NODE/INDEX), queue or pool; or any kind as kubectl prints it"
    parser.add_argument("subject", nargs="*", metavar="KIND/NAME", help=about)
    parser.add_argument("--explain", default="", metavar="CAUSE", help="cause to describe, without a cluster")
    report = "new file for the evidence, with names removed"
    parser.add_argument("--report", default="", metavar="FILE", help=report)
    _output(parser)
    _waiting(parser)


def _triage(nouns: Any, shared: argparse.ArgumentParser) -> None:
    parser = _command(nouns, "triage", shared, "list what needs a human, the most urgent first", "triage:run")
    parser.add_argument("--watch", action="store_true", help="print again when it changes, until interrupted")
    every = "refresh interval in seconds (default: 5)"
    parser.add_argument("--interval", type=seconds, default=5.0, metavar="SECONDS", help=every)
    parser.add_argument(
        "--each", action="store_true", help="a row for each object, also where many are alike"
    )
    _output(parser)
    _waiting(parser)


_DRY_RUN = "show what would change and the server's answer to a dry run"


def _acting(parser: Any, *, dry_run: str = "") -> None:
    """Options of what changes the cluster; `dry_run` is the help of `--dry-run`, "" without it."""
    if dry_run:
        parser.add_argument("--dry-run", action="store_true", help=dry_run)
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    words = "with --yes: what has to be typed where work may end"
    parser.add_argument("--confirm", dest="verb_confirm", default="", metavar="TEXT", help=words)
    _waiting(parser)


def _nouns_with_verbs(nouns: Any, shared: argparse.ArgumentParser) -> None:
    """`cockpit job|node|pool|queue VERB`, from the registry."""
    for noun in dict.fromkeys(verb.noun or verb.kind for verb in VERBS):
        group = _noun(nouns, noun, NOUNS[noun].about)
        for verb in VERBS:
            if (verb.noun or verb.kind) == noun:
                parser = _command(group, verb.name, shared, verb.words.command, verb.command)
                parser.set_defaults(verb=verb.id)
                _ARGUMENTS.get(verb.id, _on_things)(parser, verb)
        if noun == "job":
            _logs(group, shared)
            _wait(group, shared)
            _efficiency(group, shared)
        if noun == "pool":
            _show_pool(group, shared)


def _on_things(parser: Any, verb: Verb) -> None:
    """What is named, the verb's own options, and how it is asked for."""
    kind = NOUNS[verb.kind]
    several = "; repeatable" if verb.takes_many else ""
    count = "*" if kind.has_filter else "+" if verb.takes_many else 1
    parser.add_argument("names", nargs=count, metavar="NAME", help=f"{kind.naming}{several}")
    parser.set_defaults(filter="")
    if kind.has_filter:
        parser.add_argument("--filter", default="", metavar="TEXT", help="filter, as after / on the screen")
    for item in (*verb.flags, *verb.beside):
        more: dict[str, Any] = {"action": "store_true"} if item.is_switch else {
            "metavar": item.metavar, "type": item.read, "required": item.is_required, "default": ""
        }  # fmt: skip
        parser.add_argument(item.name, dest=f"verb_{item.field}", help=item.help, **more)
    _acting(parser, dry_run=_DRY_RUN)


def _values(parser: Any, what: str, *shorts: tuple[str, str]) -> None:
    """`--set NAME=VALUE`, and short options for some of them."""
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help=what)
    for name, metavar in shorts:
        parser.add_argument(f"--{name}", dest=f"set_{name}", metavar=metavar, help=f"short for --set {name}=")


_SHORTS = (
    ("name", "NAME"), ("workers", "COUNT"), ("gpus", "COUNT"), ("image", "IMAGE"),
    ("command", "COMMAND"), ("queue", "QUEUE"),
)  # fmt: skip


def _submit(parser: Any, _verb: Verb) -> None:
    parser.add_argument("template", metavar="TEMPLATE", nargs="?", help="see cockpit template list")
    parser.add_argument("-f", "--file", metavar="FILE", help="manifests to submit as they are; - reads them")
    _values(parser, "template parameter; repeatable", *_SHORTS)
    parser.add_argument("--engine", default="", metavar="ENGINE", action=EngineChoice)
    _output(parser)
    parser.add_argument("--wait", action="store_true", help="wait until the job runs")
    _acting(parser, dry_run="show the manifest and the server's answer to a dry run")


def _smoke(parser: Any, _verb: Verb) -> None:
    parser.add_argument("node", metavar="NODE")
    _values(parser, "parameter of the smoke-test template; repeatable", *_SHORTS[:1], *_SHORTS[2:5])
    _acting(parser, dry_run=_DRY_RUN)


def _clone(parser: Any, _verb: Verb) -> None:
    parser.add_argument("source", metavar="NAME", help=NOUNS["job"].naming)
    _values(parser, "parameter to change; repeatable", *_SHORTS)
    _acting(parser, dry_run=_DRY_RUN)


def _enter(parser: Any, _verb: Verb) -> None:
    parser.usage = "%(prog)s [options] NAME [-- COMMAND ...]"
    parser.add_argument("name", metavar="NAME", help=NOUNS["job"].naming)
    parser.add_argument("--rank", type=whole, metavar="N", help="rank (default: the first running member)")
    parser.add_argument("--container", default="", metavar="NAME", help="container, if a pod has several")
    _waiting(parser)


def _board(parser: Any, _verb: Verb) -> None:
    parser.add_argument("name", metavar="NAME", help=NOUNS["job"].naming)
    parser.add_argument("--rank", type=whole, metavar="N", help="rank (default: the pod serving TensorBoard)")
    parser.add_argument("--port", type=whole, metavar="PORT", help="pod port (default: detected)")
    parser.add_argument(
        "--local-port", type=whole, default=0, metavar="PORT", help="local port (default: any free port)"
    )
    _waiting(parser)


_ARGUMENTS: dict[str, Callable[[Any, Verb], None]] = {
    "job.submit": _submit,
    "node.smoke-test": _smoke,
    "job.clone": _clone,
    "job.exec": _enter,
    "job.tensorboard": _board,
}
"""Arguments of the verbs that are begun by a command of their own."""


def _logs(verbs: Any, shared: argparse.ArgumentParser) -> None:
    logs = _command(verbs, "logs", shared, "print the logs of all members, merged by time", "logs:run")
    add = logs.add_argument
    add("name", metavar="NAME", help="name, namespace/name or kind/namespace/name")
    add("-f", "--follow", action="store_true", help="stream new lines until the job ends or you press ctrl+c")
    add("--since", default="", metavar="AGE", help="only lines newer than this, such as 30s, 10m or 2h")
    add("--tail", type=whole, metavar="COUNT", help="last COUNT lines per pod (default: 20 to 1000)")
    add("--previous", action="store_true", help="logs of the run before the last restart")
    add("--grep", action="append", default=[], metavar="RE", help="only lines that match RE; repeatable")
    add("--not", dest="unwanted", action="append", default=[], metavar="RE", help="leave out what matches RE")
    add("--rank", action="append", default=[], metavar="N", help="only these members: 0, 0-3,7 or launcher")
    add("--container", default="", metavar="NAME", help="container, if pods have several")
    add("--stream", choices=("stdout", "stderr"), default="", help="only this stream, if supported")
    add("--times", action="store_true", help="prefix lines with their UTC timestamps")
    add("--save", default="", metavar="FILE", help="write to a new file instead")
    _waiting(logs)


def _wait(verbs: Any, shared: argparse.ArgumentParser) -> None:
    parser = _command(verbs, "wait", shared, "wait until a job runs or has ended", "job_wait:run")
    parser.add_argument("name", metavar="NAME", help=NOUNS["job"].naming)
    wanted = "state to wait for (default: done)"
    parser.add_argument("--for", dest="wanted", choices=("running", "done"), default="done", help=wanted)
    longest = "longest wait (default: none)"
    parser.add_argument("--within", type=seconds, default=None, metavar="SECONDS", help=longest)
    _waiting(parser)


def _efficiency(verbs: Any, shared: argparse.ArgumentParser) -> None:
    what = "compare the throughput of two runs: scaling efficiency, overhead, GPU-hours per million samples"
    parser = _command(verbs, "efficiency", shared, what, "efficiency:run")
    parser.add_argument(
        "baseline", metavar="BASELINE", help="run to compare with, such as one on a single GPU"
    )
    parser.add_argument("run", metavar="RUN", help="name, namespace/name or kind/namespace/name")
    _output(parser)
    _waiting(parser)


def _show_pool(verbs: Any, shared: argparse.ArgumentParser) -> None:
    what = (
        "show a pool: owner, size, growth under way, demand, idle nodes, failures, what its autoscaler says"
    )
    parser = _command(verbs, "show", shared, what, "pool_show:run")
    parser.add_argument("name", metavar="NAME", help=NOUNS["pool"].naming)
    _output(parser)
    _waiting(parser)


def _demo(nouns: Any, shared: argparse.ArgumentParser) -> None:
    demo = _command(nouns, "demo", shared, "open the screens on an embedded cluster", "demo:run")
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
    verbs = _noun(nouns, "template", "list, show, create and check job templates")
    listing = _command(verbs, "list", shared, "list the templates", "template:listing")
    _output(listing)
    show = _command(verbs, "show", shared, "show a template: its parameters and its file", "template:show")
    show.add_argument("name", metavar="NAME")
    choices = _command(
        verbs, "choices", shared, "list what the cluster offers for a template's parameters", "choices:show"
    )
    choices.add_argument("name", metavar="NAME")
    choices.add_argument(
        "parameter", nargs="?", default="", metavar="PARAMETER", help="only this parameter (default: all)"
    )
    _waiting(choices)
    new = _command(verbs, "new", shared, "create a template of your own from another one", "template:new")
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
    _waiting(new)
    lint = _command(
        verbs,
        "lint",
        shared,
        "check templates; with --context also that the cluster serves their kinds",
        "template:lint_all",
    )
    _waiting(lint)
    lint.add_argument(
        "files", nargs="*", metavar="FILE", help="files to check (default: all known templates)"
    )


def _audit(nouns: Any, shared: argparse.ArgumentParser) -> None:
    verbs = _noun(nouns, "audit", "show this host's audit log and replay its entries")
    for name in ("list", "show"):
        show = _command(
            verbs, name, shared, "print the changes made from this host, newest last", "audit:show"
        )
        show.add_argument(
            "--last", type=int, default=50, metavar="COUNT", help="show the last COUNT changes (default: 50)"
        )
        _output(show)
    restore = _command(
        verbs, "restore", shared, "create a job again that was deleted to be recreated", "restore:run"
    )
    restore.add_argument("id", metavar="ID", help="id of the audit lines, see cockpit audit list")
    _acting(restore, dry_run=_DRY_RUN)
    known = _command(verbs, "acknowledge", shared, "note that a broken-off write is known", "left_over:run")
    known.add_argument("ids", nargs="+", metavar="ID", help="audit IDs, from the JSON output of triage")
    _waiting(known)
    apply = _command(verbs, "apply", shared, "repeat recorded actions on another cluster", "audit:apply")
    apply.set_defaults(parse=lambda words: build_parser().parse_args(words))
    apply.add_argument("file", metavar="FILE", help="audit lines, one JSON object per line")
    _acting(apply, dry_run=_DRY_RUN)


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
