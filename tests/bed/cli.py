"""The commands of `python -m tests.bed`."""

import argparse
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from tests.bed import builder, doctor
from tests.bed.bed import ENVIRONMENT_NAME, Bed
from tests.bed.binaries import BINARIES, GENERATION_VARIABLE, GENERATIONS, REQUIRED
from tests.bed.cache import BedError, cache_root
from tests.bed.distro import ensure_program
from tests.bed.estate import Estate
from tests.bed.layout import FULL, NEEDS


class _EndAsked(BaseException):
    """SIGTERM or SIGINT while a bed is up."""


def _on_signal(number: int, frame: FrameType | None) -> None:
    del frame
    raise _EndAsked(signal.Signals(number).name)


def _report(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _parts(text: str) -> tuple[str, ...]:
    names = tuple(name for name in text.replace(",", " ").split() if name)
    return tuple(FULL) if names == ("full",) else names


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bed", description="A real Kubernetes control plane on this machine, for tests."
    )
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name: str, text: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=text, description=text)

    def shape(one: argparse.ArgumentParser) -> None:
        one.add_argument(
            "--parts",
            type=_parts,
            default=tuple(FULL),
            help=f"full (the default) or some of {','.join(NEEDS)}; what they need is added",
        )
        one.add_argument(
            "--nodes", type=int, default=0, help="GPU nodes and queues to create (8 GPUs a node)"
        )
        one.add_argument(
            "--namespace",
            action=argparse.BooleanOptionalAction,
            default=None,
            help="run in namespaces of its own (default: when a part needs it)",
        )
        one.add_argument(
            "--engines",
            choices=tuple(GENERATIONS),
            default="",
            help=f"which Kueue and mpi-operator (default: what {GENERATION_VARIABLE} says, else the newer)",
        )
        one.add_argument("--keep-logs", action="store_true", help="leave the logs behind")

    up = command("up", "start a bed, print how to reach it, stay until Ctrl-C")
    shape(up)
    build = command("build", "compile what every test run needs into the cache")
    build.add_argument("names", nargs="*", metavar="PROGRAM", help=f"some of {', '.join(BINARIES)}")
    build.add_argument(
        "--all",
        action="store_true",
        help="the optional engines, too: older Kueue and mpi-operator, scheduler-plugins, JobSet, Karpenter",
    )
    run = command("exec", "run a command inside a fresh bed, end the bed with it")
    shape(run)
    run.add_argument("--bed", type=Path, help="the run folder of a bed that is up, instead of a fresh one")
    run.add_argument("argv", nargs=argparse.REMAINDER, metavar="-- COMMAND")
    enter = command("enter", "a shell or a command inside a bed that is up")
    enter.add_argument("bed", type=Path, metavar="RUN_DIR")
    enter.add_argument("argv", nargs=argparse.REMAINDER, metavar="-- COMMAND")
    command("doctor", "say what is missing on this machine, and why it matters")
    return parser


def _command_line(argv: Sequence[str]) -> list[str]:
    command = list(argv[1:] if argv[:1] == ["--"] else argv)
    return command or [os.environ.get("SHELL", "/bin/sh")]


def _start(options: argparse.Namespace) -> Bed:
    bed = Bed(
        options.parts,
        namespace=options.namespace,
        keep_logs=options.keep_logs,
        generation=options.engines,
        report=_report,
    )
    bed.start()
    if options.nodes:
        started = time.monotonic()
        try:
            Estate(bed.api()).create(nodes=options.nodes, queues="kueue" in bed.parts)
        except Exception:
            bed.stop(failed=True)
            raise
        bed.timings["estate"] = time.monotonic() - started
    return bed


def _up(options: argparse.Namespace) -> int:
    bed = _start(options)
    try:
        print(f"KUBECONFIG={bed.kubeconfig}", flush=True)
        print(f"run folder: {bed.run_dir}   up after {bed.timings['total']:.1f} s")
        print("contexts: bed (admin), certificate, engineer (team-a), viewer, nobody, expired")
        if bed.namespaced:
            print("The API server answers here too. Shell inside the namespace (pod addresses, every port):")
            print(f"  {shlex.join(bed.enter_prefix())} env KUBECONFIG={bed.kubeconfig} $SHELL")
            print(f"  python -m tests.bed enter {bed.run_dir}")
        if "prometheus" in bed.parts:
            print(f"Prometheus: {bed.prometheus_url}   exposition: {bed.exposition_url}")
        print("Ctrl-C ends it.", flush=True)
        while True:
            bed.watch()
    finally:
        bed.stop()


def _exec(options: argparse.Namespace) -> int:
    bed = Bed.attach(options.bed) if options.bed else _start(options)
    try:
        return _run(bed, _command_line(options.argv))
    finally:
        bed.stop()


def _run(bed: Bed, argv: Sequence[str]) -> int:
    child = subprocess.Popen(bed.inside(argv))
    while True:
        try:
            return child.wait()
        except _EndAsked as ended:
            # A terminal's Ctrl-C reached the child too; give it the chance to end by itself.
            child.send_signal(signal.Signals[str(ended)])
            try:
                return child.wait(timeout=10)
            except subprocess.TimeoutExpired:
                child.kill()


def _build(options: argparse.Namespace) -> int:
    print(f"cache: {cache_root()}")
    started = time.monotonic()
    for name in options.names:
        if name not in BINARIES:
            raise BedError(f"program {name!r} is not one of {', '.join(BINARIES)}")
    wanted = options.names or (tuple(BINARIES) if options.all else REQUIRED)
    for built in builder.ensure_all(wanted, _report):
        print(f"{built.name:26} {built.how:20} {built.seconds:7.1f} s  {built.path}", flush=True)
    if not options.names:
        for name in ("prometheus", "tmux"):
            print(f"{name:26} {'':20} {'':9}  {ensure_program(name, _report)}", flush=True)
    print(f"total {time.monotonic() - started:.1f} s")
    return 0


def _enter(options: argparse.Namespace) -> int:
    return _run(Bed.attach(options.bed), _command_line(options.argv))


def main(arguments: Sequence[str]) -> int:
    """Returns the exit code; 2 with one sentence when the bed cannot be had."""
    options = _parser().parse_args(arguments)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _on_signal)
    os.environ.pop(ENVIRONMENT_NAME, None)
    try:
        match options.command:
            case "up":
                return _up(options)
            case "exec":
                return _exec(options)
            case "enter":
                return _enter(options)
            case "build":
                return _build(options)
            case _:
                return doctor.main()
    except _EndAsked:
        return 130
    except BedError as error:
        print(f"bed: {error}", file=sys.stderr)
        return 2
