"""The embedded server as a contract server: in this process, in a thread with a loop of its own."""

import asyncio
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from cockpit.clock import SystemClock
from cockpit.sim.actors.controllers.budgets import Budgets
from cockpit.sim.actors.controllers.deployment.deployments import Deployments
from cockpit.sim.actors.controllers.garbage import Garbage
from cockpit.sim.actors.controllers.job.jobs import Jobs
from cockpit.sim.actors.controllers.leftovers import PodLeftovers
from cockpit.sim.actors.controllers.namespaces import NamespaceDefaults, NamespaceEnd
from cockpit.sim.actors.controllers.nodes.daemon_sets import DaemonSets
from cockpit.sim.actors.controllers.replica_sets import ReplicaSets
from cockpit.sim.engine import Actor, Engine
from cockpit.sim.server.assembly import ENGINEER_NAMESPACE
from cockpit.sim.server.http.kubeconfig import write_kubeconfig
from cockpit.sim.server.request import Request, User
from cockpit.sim.server.rights.attributes import AUTHENTICATED
from cockpit.sim.server.run import Embedded, serving
from tests.bed import people
from tests.contract.server import Capability, Server


def actors(root_certificate: str) -> Sequence[Actor]:
    """The controllers that kube-controller-manager runs on the real server, as far as they are modelled."""
    return (
        NamespaceDefaults(root_certificate),
        NamespaceEnd(),
        Garbage(),
        Budgets(),
        Deployments(),
        ReplicaSets(),
        Jobs(),
        DaemonSets(),
        PodLeftovers(),
    )


@dataclass
class _Thread:
    """Runs the server; `server` is set when `begun` is."""

    folder: Path
    begun: threading.Event = field(default_factory=threading.Event)
    server: Embedded | None = None
    tokens: dict[str, str] = field(default_factory=dict)
    fault: BaseException | None = None
    loop: asyncio.AbstractEventLoop | None = None
    over: asyncio.Event | None = None

    def run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as fault:
            self.fault = fault
        finally:
            self.begun.set()

    async def _serve(self) -> None:
        self.loop, self.over = asyncio.get_running_loop(), asyncio.Event()
        clock, random = SystemClock(), Random(1)
        async with serving(self.folder, clock, random, has_accounts=False) as self.server:
            self.tokens = _settle_people(self.server)
            controllers = actors(self.server.ca_file.read_text())
            engine = Engine(self.server.port(), clock, random, controllers)
            await engine.start()
            turning = asyncio.create_task(engine.run())
            self.begun.set()
            await self.over.wait()
            turning.cancel()
            with suppress(asyncio.CancelledError):
                await turning
            await engine.stop()

    def compact(self) -> None:
        assert self.loop is not None
        assert self.server is not None
        storage, done = self.server.operations.storage, threading.Event()
        self.loop.call_soon_threadsafe(storage.compact)
        self.loop.call_soon_threadsafe(done.set)
        done.wait(10)

    def end(self) -> None:
        if self.loop is not None and self.over is not None:
            self.loop.call_soon_threadsafe(self.over.set)


@contextmanager
def running() -> Iterator[Server]:
    """Starts it beside the caller and ends it."""
    with tempfile.TemporaryDirectory(prefix="cockpit-embedded-") as name:
        work = _Thread(Path(name))
        thread = threading.Thread(target=work.run, name="embedded-server", daemon=True)
        thread.start()
        work.begun.wait(30)
        if work.server is None or work.fault is not None:
            raise RuntimeError(f"the embedded server did not start: {work.fault!r}")
        try:
            yield _described(work.server, work.tokens, work)
        finally:
            work.end()
            thread.join(10)
        if work.fault is not None:
            raise work.fault


def _settle_people(made: Embedded) -> dict[str, str]:
    """The people of the bed with their rights, so that both servers know the same; answers role -> token."""
    tokens = made.face.tokens
    for tree in people.objects():
        if tree["kind"] != "Namespace":
            kind = made.operations.kinds.by_kind(tree["apiVersion"], tree["kind"])
            assert kind is not None
            namespace = tree["metadata"].get("namespace", "")
            made.operations.create(Request(resource=kind.resource, namespace=namespace, verb="create"), tree)
    issued = {}
    for person in people.PEOPLE:
        user = User(person.user, (*person.groups, AUTHENTICATED), person.user)
        token = tokens.issue(user)
        issued["admin" if person.context == "bed" else person.context] = token
        if not person.known:
            tokens.revoke(token)
    return issued


def _described(made: Embedded, tokens: dict[str, str], work: _Thread) -> Server:
    admin = made.certificates.admin
    kubeconfig = made.folder / "kubeconfig-of-the-bed"
    write_kubeconfig(kubeconfig, made.url, made.ca_file, tokens, {"engineer": ENGINEER_NAMESPACE})
    names = {"admin" if one.context == "bed" else one.context: one.user for one in people.PEOPLE}
    return Server(
        url=made.url,
        ca_file=made.ca_file,
        kubeconfig=kubeconfig,
        tokens=tokens,
        usernames=names,
        contexts={role: role for role in tokens},
        engineer_namespace=ENGINEER_NAMESPACE,
        capabilities=frozenset({Capability.CERTIFICATES, Capability.COMPACTION, Capability.CONTROLLERS}),
        certificate=(admin.certificate_file, admin.key_file),
        compact=work.compact,
    )
