"""A whole embedded cluster in one process: server, kubelets' endpoint, exporters, and the engine.

Started as a child of `cockpit demo`: says `KUBECONFIG=PATH` on standard output when it can be used, and ends
with its parent (standard input closes), on SIGINT, SIGTERM and SIGHUP. Nothing of it is left but the log.
"""

import asyncio
import contextlib
import logging
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, TextIO

import msgspec

from cockpit.errors import BadInput
from cockpit.sim.clock import DemoClock
from cockpit.sim.demo_folder import fresh_folder, in_use, remove_leftovers

if TYPE_CHECKING:
    from cockpit.sim.actors.kubelet.endpoint import KubeletServer
    from cockpit.sim.actors.kubelet.local_images import Local
    from cockpit.sim.cluster import EmbeddedCluster
    from cockpit.sim.scenarios.scenario_player import Line, Tell
    from cockpit.sim.scenarios.schema import Scenario
    from cockpit.sim.server.run import Embedded

_STEP_SECONDS = 5.0
_PODS = "pods"
_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_API_SERVER = "kube-apiserver-kubelet-client"
"""Who alone may ask kubelets: behind them are shells of this machine."""


class Options(msgspec.Struct, frozen=True):
    """What was asked for; `folder` None makes a temporary one. That goes at the end, and so does one that
    `is_fleeting`."""

    scenario: str = "default"
    speed: float = 1.0
    seed: int = 1
    port: int = 0
    folder: Path | None = None
    is_fleeting: bool = False
    log: Path | None = None
    warm_seconds: float = 0.0
    has_parent: bool = False
    allow_local: bool = False
    """A scenario of a file, too, may have images that begin with `local/`."""
    runs_local_images: bool = True
    """Pods whose images begin with `local/` run as processes of this machine."""


@asynccontextmanager
async def running(
    scenario: "Scenario", folder: Path, options: Options
) -> AsyncIterator[tuple["Embedded", "EmbeddedCluster"]]:
    """The cluster, alive, while the block runs. Raises BadInput for a port or folder that cannot be used."""
    from cockpit.sim.cluster import EmbeddedCluster, age_seconds
    from cockpit.sim.durations import seconds
    from cockpit.sim.faults.script import Script
    from cockpit.sim.server.run import serving

    warm = min(options.warm_seconds, seconds(scenario.warm_most))
    clock = DemoClock(warm + age_seconds(scenario))
    random = Random(options.seed)
    with _truth(folder) as tell:
        async with serving(folder, clock, random, port=options.port) as embedded:
            local = _local(folder, clock) if options.runs_local_images else None
            cluster = EmbeddedCluster(scenario, embedded.operations, clock, random, tell=tell, local=local)
            cluster.install()
            await cluster.exporters.start(more=cluster.prometheus.add_to if scenario.prometheus else None)
            _tell_prometheus(folder, cluster.exporters.port)
            kubelets = kubelet_server(embedded, cluster)
            await kubelets.start()
            embedded.context.reroute, embedded.context.listens = cluster.reroute, cluster.listens
            embedded.context.discovery.mounts.append(cluster.visibility())
            engine = cluster.engine
            await engine.start()
            left = warm
            while left > 0:
                await engine.advance(min(left, _STEP_SECONDS))
                left -= _STEP_SECONDS
            clock.release(options.speed)
            if scenario.faults:
                embedded.faults.choose = Script.read(scenario.faults, clock, options.seed).choose
            task = asyncio.create_task(engine.run(), name="engine")
            try:
                yield embedded, cluster
            finally:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
                await engine.stop()
                shutil.rmtree(folder / _PODS, ignore_errors=True)
                await kubelets.stop()
                await cluster.exporters.stop()


def _local(folder: Path, clock: DemoClock) -> "Local":
    """What runs the commands of people's own jobs, each pod in a folder of its own."""
    from cockpit.sim.actors.kubelet.local_images import Local
    from cockpit.sim.actors.kubelet.process import ProcessRuntime

    return Local(ProcessRuntime(folder / _PODS, clock.now))


def kubelet_server(embedded: "Embedded", cluster: "EmbeddedCluster") -> "KubeletServer":
    """The endpoint behind logs and exec; it opens to the API server's own certificate alone."""
    from cockpit.sim.actors.kubelet.endpoint import KubeletServer, server_context

    pair = embedded.certificates.server
    context = server_context(pair.certificate_file, pair.key_file, embedded.ca_file)
    return KubeletServer(cluster.kubelets, context, callers=(_API_SERVER,))


def _tell_prometheus(folder: Path, port: int) -> None:
    """A configuration for whoever has a Prometheus at hand: every node's exporter is a target of it."""
    (folder / "prometheus.yaml").write_text(
        "scrape_configs:\n"
        "  - job_name: dcgm-exporter\n"
        "    scrape_interval: 15s\n"
        "    honor_labels: true\n"
        f"    http_sd_configs: [{{url: 'http://127.0.0.1:{port}/targets'}}]\n"
    )


@contextlib.contextmanager
def _truth(folder: Path) -> Iterator["Tell"]:
    """The story's own log beside the kubeconfig: `truth.jsonl`, a line each."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / "truth.jsonl").open("wb", buffering=0)
    except OSError as error:
        raise BadInput(
            f"The folder {folder} cannot be written: {error.strerror}; give one that can."
        ) from None
    with file:

        def tell(line: "Line") -> None:
            file.write(msgspec.json.encode(line) + b"\n")

        yield tell


async def serve(options: Options, out: TextIO, kept: list[object] | None = None) -> None:
    """Run until told to end; `kept` gets the cluster. What people have to know before is said first:
    a line `NOTE=...` to the parent, else a sentence on standard error.

    Raises BadInput before anything is started, SystemExit where it is told to end
    while it still starts."""
    scenario, note = _scenario(options)
    _log_to(options.log)
    tempfile.gettempdir()  # finds out by writing a file: who is ended right there leaves it behind
    with _endable(watch_parent=options.has_parent) as ending, _folder(options) as folder:
        remove_leftovers()
        async with running(scenario, folder, options) as (embedded, cluster):
            if kept is not None:
                kept += (embedded, cluster)
            if note:
                to, mark = (out, "NOTE=") if options.has_parent else (sys.stderr, "cockpit: ")
                print(f"{mark}{note}", file=to, flush=True)
            print(f"KUBECONFIG={embedded.kubeconfig}", file=out, flush=True)
            await ending()


def _scenario(options: Options) -> tuple["Scenario", str]:
    """The scenario, and what people have to know of it before they look. Raises BadInput."""
    from cockpit.sim import training_env
    from cockpit.sim.actors.kubelet.local_images import HOROVOD, STAND_IN
    from cockpit.sim.scenarios.loading import find, load

    missing = training_env.missing()
    path = find(options.scenario)
    scenario = load(path, allow_local=options.allow_local, images={HOROVOD: STAND_IN} if missing else {})
    is_played = missing is not None and HOROVOD in path.read_text()
    return scenario, f"{missing}; a stand-in prints what a training would" if is_played else ""


@contextlib.contextmanager
def _folder(options: Options) -> Iterator[Path]:
    if options.folder is None:
        with fresh_folder() as folder:
            yield folder
        return
    with in_use(options.folder):
        try:
            yield options.folder
        finally:
            if options.is_fleeting:
                shutil.rmtree(options.folder, ignore_errors=True)


@contextlib.contextmanager
def _endable(*, watch_parent: bool) -> Iterator[Callable[[], Awaitable[None]]]:
    """Gives a wait for the end: a signal asks for it, or the parent has gone.

    Before it is waited for, the same raises SystemExit wherever the program is: a large cluster stands up for
    a minute without ever looking at its loop. What that becomes on its way out (a RuntimeError where it hit
    a class being made) is still that end.
    """
    told = threading.Event()
    ends = list[SystemExit]()

    def interrupt(number: int, _frame: object) -> None:
        if not told.is_set():
            told.set()
            ends.append(SystemExit(128 + number))
            raise ends[0]

    before = {number: signal.signal(number, interrupt) for number in _ENDS}
    if watch_parent:
        threading.Thread(target=_until_closed, daemon=True).start()

    async def wait() -> None:
        loop = asyncio.get_running_loop()
        ending = asyncio.Event()
        for number in _ENDS:
            loop.add_signal_handler(number, ending.set)
        await ending.wait()

    try:
        yield wait
    except Exception:
        if ends:
            raise ends[0] from None
        raise
    finally:
        told.set()  # whoever asks once more does not disturb the tidying up
        loop = asyncio.get_running_loop()
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)


def _until_closed() -> None:
    """A thread, because not every kind of standard input can be waited for by a loop (/dev/null cannot)."""
    while os.read(sys.stdin.fileno(), 4096):
        continue
    os.kill(os.getpid(), signal.SIGTERM)


def _log_to(path: Path | None) -> None:
    """Warnings and worse into a file that starts anew with each cluster."""
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.touch(mode=0o600)
        logging.basicConfig(
            filename=path, level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
        )
    except OSError as error:
        raise BadInput(
            f"The log {path} cannot be written: {error.strerror}; set XDG_STATE_HOME elsewhere."
        ) from None
