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
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, TextIO

import msgspec

from cockpit.errors import BadInput
from cockpit.sim.clock import DemoClock

if TYPE_CHECKING:
    from cockpit.sim.actors.kubelet.endpoint import KubeletServer
    from cockpit.sim.actors.kubelet.local_images import Local
    from cockpit.sim.cluster import Cluster
    from cockpit.sim.scenarios.schema import Scenario
    from cockpit.sim.scenarios.story import Line, Tell
    from cockpit.sim.server.run import Embedded

_STEP_SECONDS = 5.0
_PODS = "pods"
_API_SERVER = "kube-apiserver-kubelet-client"
"""Who alone may ask kubelets: behind them are shells of this machine."""


class Options(msgspec.Struct, frozen=True):
    """What was asked for; `folder` None makes a temporary one that goes at the end."""

    scenario: str = "default"
    speed: float = 1.0
    seed: int = 1
    port: int = 0
    folder: Path | None = None
    log: Path | None = None
    warm_seconds: float = 0.0
    has_parent: bool = False
    runs_local_images: bool = True
    """Pods whose images begin with `local/` run as processes of this machine; no scenario has any."""


@asynccontextmanager
async def running(
    scenario: "Scenario", folder: Path, options: Options
) -> AsyncIterator[tuple["Embedded", "Cluster"]]:
    """The cluster, alive, while the block runs. Raises BadInput for a port or folder that cannot be used."""
    from cockpit.sim.cluster import Cluster
    from cockpit.sim.faults.script import Script
    from cockpit.sim.server.run import serving

    clock = DemoClock(options.warm_seconds)
    random = Random(options.seed)
    with _truth(folder) as tell:
        async with serving(folder, clock, random, port=options.port) as embedded:
            local = _local(folder, clock) if options.runs_local_images else None
            cluster = Cluster(scenario, embedded.operations, clock, random, tell=tell, local=local)
            cluster.install()
            await cluster.exporters.start()
            kubelets = _kubelets(embedded, cluster)
            await kubelets.start()
            embedded.face.reroute = cluster.reroute
            engine = cluster.engine
            await engine.start()
            left = options.warm_seconds
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


def _kubelets(embedded: "Embedded", cluster: "Cluster") -> "KubeletServer":
    """The endpoint behind logs and exec; it opens to the API server's own certificate alone."""
    from cockpit.sim.actors.kubelet.endpoint import KubeletServer, server_context

    pair = embedded.certificates.server
    context = server_context(pair.certificate_file, pair.key_file, embedded.ca_file)
    return KubeletServer(cluster.kubelets, context, callers=(_API_SERVER,))


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


async def serve(options: Options, out: TextIO) -> None:
    """Run until told to end. Raises BadInput before anything is started."""
    from cockpit.sim.scenarios.loading import find, load

    scenario = load(find(options.scenario))
    _log_to(options.log)
    folder = options.folder or Path(tempfile.mkdtemp(prefix="cockpit-demo-"))
    try:
        async with running(scenario, folder, options) as (embedded, _):
            ending = _ending(watch_parent=options.has_parent)
            print(f"KUBECONFIG={embedded.kubeconfig}", file=out, flush=True)
            await ending.wait()
    finally:
        if options.folder is None:
            shutil.rmtree(folder, ignore_errors=True)


def _ending(*, watch_parent: bool) -> asyncio.Event:
    """Set when a signal asks us to end, or when the parent has gone."""
    ending = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, ending.set)
    if watch_parent:
        # A thread, because not every kind of standard input can be waited for by a loop (/dev/null cannot).
        threading.Thread(target=_until_closed, args=(loop, ending), daemon=True).start()
    return ending


def _until_closed(loop: asyncio.AbstractEventLoop, ending: asyncio.Event) -> None:
    while os.read(sys.stdin.fileno(), 4096):
        continue
    with contextlib.suppress(RuntimeError):  # the loop has ended before us
        loop.call_soon_threadsafe(ending.set)


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
        raise BadInput(f"The log {path} cannot be written: {error.strerror}; give another --log.") from None
