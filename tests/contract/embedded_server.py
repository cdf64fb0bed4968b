"""The embedded server as a contract server: in this process, in a thread with a loop of its own."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from random import Random

from cockpit.clock import SystemClock
from cockpit.sim.actors.controllers.budgets import Budgets
from cockpit.sim.actors.controllers.cron_jobs import CronJobs
from cockpit.sim.actors.controllers.deployments import Deployments
from cockpit.sim.actors.controllers.garbage import Garbage
from cockpit.sim.actors.controllers.job.jobs import Jobs
from cockpit.sim.actors.controllers.leftovers import PodLeftovers
from cockpit.sim.actors.controllers.namespaces import NamespaceDefaults, NamespaceEnd
from cockpit.sim.actors.controllers.nodes.daemon_sets import DaemonSets
from cockpit.sim.actors.controllers.replica_sets import ReplicaSets
from cockpit.sim.engine import Actor, ActorEngine
from cockpit.sim.server.assembly import ENGINEER_NAMESPACE
from cockpit.sim.server.http.kubeconfig import write_kubeconfig
from cockpit.sim.server.rbac.attributes import AUTHENTICATED
from cockpit.sim.server.request import Request, User
from cockpit.sim.server.run import Embedded
from tests.adapters.threaded_server import Threaded, threaded
from tests.bed import people
from tests.contract.server import CAPABILITIES, Server


def actors(root_certificate: str) -> Sequence[Actor]:
    """The controllers that kube-controller-manager runs on the real server, as far as they are modelled."""
    return (
        NamespaceDefaults(root_certificate),
        NamespaceEnd(),
        Garbage(),
        Budgets(),
        Deployments(),
        ReplicaSets(),
        CronJobs(),
        Jobs(),
        DaemonSets(),
        PodLeftovers(),
    )


@asynccontextmanager
async def _controlled(server: Embedded) -> AsyncIterator[None]:
    """The controllers at work."""
    engine = ActorEngine(server.port(), SystemClock(), Random(2), actors(server.ca_file.read_text()))
    await engine.start()
    turning = asyncio.create_task(engine.run())
    try:
        yield
    finally:
        turning.cancel()
        with suppress(asyncio.CancelledError):
            await turning
        await engine.stop()


@contextmanager
def running() -> Iterator[Server]:
    """Starts it beside the caller and ends it."""
    with (
        tempfile.TemporaryDirectory(prefix="cockpit-embedded-") as name,
        # The bed runs without the admission of service accounts, too.
        threaded(Path(name), SystemClock(), Random(1), has_accounts=False, around=_controlled) as work,
    ):
        tokens = work.call(lambda: _settle_people(work.server))
        yield _described(work.server, tokens, work)


def _role_of(person: people.Person) -> str:
    return "admin" if person.context == "bed" else person.context


def _settle_people(made: Embedded) -> dict[str, str]:
    """The people of the bed with their rights, so that both servers know the same; answers role -> token."""
    tokens = made.context.tokens
    for tree in people.objects():
        if tree["kind"] != "Namespace":
            kind = made.operations.kinds.by_kind(tree["apiVersion"], tree["kind"])
            assert kind is not None
            namespace = tree["metadata"].get("namespace", "")
            made.operations.create(Request(resource=kind.resource, namespace=namespace, verb="create"), tree)
    issued = {}
    for person in people.PEOPLE:
        token = tokens.issue(User(person.user, (*person.groups, AUTHENTICATED), person.user))
        issued[_role_of(person)] = token
        if not person.known:
            tokens.revoke(token)
    return issued


def _described(made: Embedded, tokens: dict[str, str], work: Threaded) -> Server:
    admin = made.certificates.admin
    kubeconfig = made.folder / "kubeconfig-of-the-bed"
    write_kubeconfig(kubeconfig, made.url, made.ca_file, tokens, {"engineer": ENGINEER_NAMESPACE})
    return Server(
        url=made.url,
        ca_file=made.ca_file,
        kubeconfig=kubeconfig,
        tokens=tokens,
        usernames={_role_of(one): one.user for one in people.PEOPLE},
        contexts={role: role for role in tokens},
        engineer_namespace=ENGINEER_NAMESPACE,
        capabilities=CAPABILITIES["embedded"],
        certificate=(admin.certificate_file, admin.key_file),
        compact=lambda: work.call(made.operations.storage.compact),
        audit_log=made.folder / "audit.log",
    )
