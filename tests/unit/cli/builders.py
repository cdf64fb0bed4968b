"""A cluster that answers at once: an attachment whose store is filled without a server."""

import asyncio
import json
from collections.abc import Iterable
from typing import Any

import pytest

from cockpit import cli
from cockpit.attach import Attachment, Link
from cockpit.errors import CockpitError
from cockpit.gangs import registry
from cockpit.gangs.volcano import JOBS as JOBS_OF_VOLCANO
from cockpit.kube.answer import ApiAnswer
from cockpit.kube.discovery import Served, ServedResource
from cockpit.kube.resource import JOBS, LOCAL_QUEUES, MPIJOBS, PODS, WORKLOADS, Resource
from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.plan import Call
from cockpit.model.record import Kind
from cockpit.model.trust import Trust
from tests.published import checked

ALL_KINDS = (
    Kind.NODE, Kind.POD, Kind.EVENT, Kind.JOB, Kind.MPIJOB, JOBS_OF_VOLCANO, Kind.WORKLOAD,
    *registry.queue_tables(), Kind.POOL, Kind.NAMESPACE, Kind.GPU, Kind.POD_GROUP, Kind.DEVICE_SLICE,
    Kind.DEVICE_CLAIM, Kind.MACHINE, Kind.AUTOSCALER, Kind.OTHER_JOB,
)  # fmt: skip


class Line:
    """A session without a server."""

    context = "prod"
    namespace = "team-a"
    server = "https://prod.example"
    user = "ann"
    acts_as = None
    notes = ()
    trust = Trust.VERIFIED
    server_version = (1, 36)

    def __init__(self, *, read_only: bool, reads: dict[str, list[Any]]) -> None:
        """`reads`: what the reads of a path find, in their order; the last stays."""
        self.read_only = read_only
        self.reads = reads
        self.is_closed = False
        self.asked: list[str] = []

    async def request(self, method: str, path: str, **_more: Any) -> ApiAnswer:
        self.asked.append(f"{method} {path}")
        if found := self.reads.get(path):
            return ApiAnswer(200, body=json.dumps(found.pop(0) if len(found) > 1 else found[0]).encode())
        return (
            ApiAnswer(404)
            if path.endswith("/nowhere") or "/leases/" in path
            else ApiAnswer(200, body=b'{"items": []}')
        )

    async def close(self) -> None:
        self.is_closed = True


class Cluster:
    """What the commands find, and what they sent. `patch` puts it where the commands look."""

    def __init__(self) -> None:
        self.records: dict[str, list[Any]] = {}
        self.phases: dict[str, Phase] = dict.fromkeys(ALL_KINDS, Phase.LIVE)
        self.messages: dict[str, str] = {}
        self.failure: CockpitError | None = None
        self.answers: dict[bool, list[Exception | None]] = {True: [], False: []}
        self.rehearsed: list[Call] = []
        self.sent: list[Call] = []
        self.reads: dict[str, list[Any]] = {}
        self.sessions: list[Line] = []
        self.namespaces: list[str] = []
        self.incomplete: tuple[str, ...] = ()
        self.resources: list[Resource] = [MPIJOBS, JOBS, PODS, LOCAL_QUEUES, WORKLOADS]

    def add(self, kind: str, *records: Any) -> None:
        self.records.setdefault(kind, []).extend(records)

    def open(self, options: Any) -> Line:
        if self.failure is not None:
            raise self.failure
        self.sessions.append(Line(read_only=not getattr(options, "write", False), reads=self.reads))
        return self.sessions[-1]

    def batches(self) -> Iterable[Batch]:
        for kind in ALL_KINDS:
            status = StreamStatus(kind=kind, phase=self.phases[kind], message=self.messages.get(kind, ""))
            yield Batch(kind=kind, changed=tuple(self.records.get(kind, ())), status=status)

    async def perform(self, _session: Any, call: Call, *, dry_run: bool = False) -> None:
        (self.rehearsed if dry_run else self.sent).append(call)
        answer = self.answers[dry_run].pop(0) if self.answers[dry_run] else None
        if answer is not None:
            raise answer

    @property
    def served(self) -> Served:
        """What discovery of it tells."""
        return Served(tuple(ServedResource(one) for one in self.resources), self.incomplete)


class Attached(Attachment):
    """The real attachment, fed by a Cluster."""

    cluster: Cluster

    async def run(self) -> None:
        self.cluster.namespaces.append(str(self.options.namespaces))
        try:
            self.session = self.cluster.open(self.options)  # type: ignore[assignment]
        except CockpitError as error:
            self._set(Link.FAILED, error.sentence)
            return
        self._set(Link.ATTACHED, "")
        await asyncio.sleep(0)
        for batch in self.cluster.batches():
            self.sink(batch)
        await asyncio.Event().wait()


def patch(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """A cluster in the place of the network."""
    cluster = Cluster()

    async def open_session(options: Any, _clock: Any) -> Line:
        line = cluster.open(options)
        line.read_only = options.read_only
        return line

    async def discover(_session: Any) -> Served:
        return cluster.served

    monkeypatch.setattr(
        "cockpit.commands.attached.Attachment", type("Here", (Attached,), {"cluster": cluster})
    )
    monkeypatch.setattr("cockpit.commands.job.open_session", open_session)
    for command in ("choices", "engines", "job", "submitting", "why"):  # each has imported it by name
        monkeypatch.setattr(f"cockpit.commands.{command}.discover", discover)
    monkeypatch.setattr("cockpit.kube.calls.perform", cluster.perform)
    monkeypatch.setattr("cockpit.commands.attached.QUIET_SECONDS", 0.001)
    return cluster


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    try:
        code = cli.main(words)
    except SystemExit as end:
        code = int(end.code or 0)
    out, err = capsys.readouterr()
    return code, out, err


def read_json(text: str) -> Any:
    """The printed tree, which its published schema allows."""
    return checked(json.loads(text))
