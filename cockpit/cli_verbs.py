"""`cockpit job|node|pool|queue VERB`: the verbs of the registry, and what only reads one job or pool."""

import argparse
from collections.abc import Callable
from typing import Any

from cockpit.actions.verbs.registry import VERBS
from cockpit.actions.verbs.verb import NOUNS, Verb
from cockpit.cli_parts import DRY_RUN, add_command, add_confirmation, add_noun, add_output, add_timeout
from cockpit.cli_values import EngineChoice, seconds, whole


def add_nouns_with_verbs(nouns: Any, shared: argparse.ArgumentParser) -> None:
    """`cockpit job|node|pool|queue VERB`, from the registry."""
    for noun in dict.fromkeys(verb.noun or verb.kind for verb in VERBS):
        group = add_noun(nouns, noun, NOUNS[noun].about)
        for verb in VERBS:
            if (verb.noun or verb.kind) == noun:
                parser = add_command(group, verb.name, shared, verb.words.command, verb.command)
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
    add_confirmation(parser, dry_run=DRY_RUN)


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
    add_output(parser)
    parser.add_argument("--wait", action="store_true", help="wait until the job runs")
    add_confirmation(parser, dry_run="show the manifest and the server's answer to a dry run")


def _smoke(parser: Any, _verb: Verb) -> None:
    parser.add_argument("node", metavar="NODE")
    _values(parser, "parameter of the smoke-test template; repeatable", *_SHORTS[:1], *_SHORTS[2:5])
    add_confirmation(parser, dry_run=DRY_RUN)


def _clone(parser: Any, _verb: Verb) -> None:
    parser.add_argument("source", metavar="NAME", help=NOUNS["job"].naming)
    _values(parser, "parameter to change; repeatable", *_SHORTS)
    add_confirmation(parser, dry_run=DRY_RUN)


def _enter(parser: Any, _verb: Verb) -> None:
    parser.usage = "%(prog)s [options] NAME [-- COMMAND ...]"
    parser.add_argument("name", metavar="NAME", help=NOUNS["job"].naming)
    parser.add_argument("--rank", type=whole, metavar="N", help="rank (default: the first running member)")
    parser.add_argument("--container", default="", metavar="NAME", help="container, if a pod has several")
    add_timeout(parser)


def _board(parser: Any, _verb: Verb) -> None:
    parser.add_argument("name", metavar="NAME", help=NOUNS["job"].naming)
    parser.add_argument("--rank", type=whole, metavar="N", help="rank (default: the pod serving TensorBoard)")
    parser.add_argument("--port", type=whole, metavar="PORT", help="pod port (default: detected)")
    parser.add_argument(
        "--local-port", type=whole, default=0, metavar="PORT", help="local port (default: any free port)"
    )
    add_timeout(parser)


def _forward(parser: Any, _verb: Verb) -> None:
    parser.add_argument("name", metavar="NAME", help=NOUNS["pod"].naming)
    ports = "port of the pod, or local:pod; :PORT takes any free local port"
    parser.add_argument("--port", required=True, metavar="[LOCAL:]PORT", help=ports)
    add_timeout(parser)


_ARGUMENTS: dict[str, Callable[[Any, Verb], None]] = {
    "job.submit": _submit,
    "node.smoke-test": _smoke,
    "job.clone": _clone,
    "job.exec": _enter,
    "job.tensorboard": _board,
    "pod.forward": _forward,
}
"""Arguments of the verbs that are begun by a command of their own."""


def _logs(verbs: Any, shared: argparse.ArgumentParser) -> None:
    logs = add_command(verbs, "logs", shared, "print the logs of all members, merged by time", "logs:run")
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
    add_timeout(logs)


def _wait(verbs: Any, shared: argparse.ArgumentParser) -> None:
    parser = add_command(verbs, "wait", shared, "wait until a job runs or has ended", "job_wait:run")
    parser.add_argument("name", metavar="NAME", help=NOUNS["job"].naming)
    wanted = "state to wait for (default: done)"
    parser.add_argument("--for", dest="wanted", choices=("running", "done"), default="done", help=wanted)
    longest = "longest wait (default: none)"
    parser.add_argument("--within", type=seconds, default=None, metavar="SECONDS", help=longest)
    add_timeout(parser)


def _efficiency(verbs: Any, shared: argparse.ArgumentParser) -> None:
    what = "compare the throughput of two runs: scaling efficiency, overhead, GPU-hours per million samples"
    parser = add_command(verbs, "efficiency", shared, what, "efficiency:run")
    parser.add_argument(
        "baseline", metavar="BASELINE", help="run to compare with, such as one on a single GPU"
    )
    parser.add_argument("run", metavar="RUN", help="name, namespace/name or kind/namespace/name")
    add_output(parser)
    add_timeout(parser)


def _show_pool(verbs: Any, shared: argparse.ArgumentParser) -> None:
    what = (
        "show a pool: owner, size, growth under way, demand, idle nodes, failures, what its autoscaler says"
    )
    parser = add_command(verbs, "show", shared, what, "pool_show:run")
    parser.add_argument("name", metavar="NAME", help=NOUNS["pool"].naming)
    add_output(parser)
    add_timeout(parser)
