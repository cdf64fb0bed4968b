"""A session, a transport and an audit that remember what they were asked; small jobs and pods."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import msgspec

from cockpit.actions.rights import right_of
from cockpit.errors import Answered, BadInput, CockpitError, Refused
from cockpit.kube.answer import ApiAnswer
from cockpit.kube.decode.wire import ServerStatus
from cockpit.kube.refusal import read_refusal
from cockpit.local_state.audit import Entry
from cockpit.model.batch import Batch
from cockpit.model.job import Job, JobState
from cockpit.model.plan import Call, Plan
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.refusal import StatusCause
from cockpit.model.right import Right
from cockpit.store.store import Store


class Reply(msgspec.Struct):
    """An HTTP answer."""

    status: int
    tree: Any = None

    def json(self) -> Any:
        return self.tree

    def message(self) -> str:
        return f"HTTP {self.status}"


REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class Line:
    """A session whose reads answer from `objects`, by path."""

    def __init__(self, *, read_only: bool = False, objects: Mapping[str, Any] | None = None) -> None:
        self.context = "prod"
        self.server = "https://prod.example"
        self.user = "ann"
        self.acts_as = None
        self.read_only = read_only
        self.objects = dict(objects or {})
        self.reads: list[str] = []
        self.is_cut = False
        self.first_line = b"started size=1"  # of every log

    async def request(self, method: str, path: str, **_more: Any) -> Any:
        if path == REVIEWS:
            return ApiAnswer(403)  # nobody may ask whether a Lease may be written
        assert method == "GET"
        self.reads.append(path)
        if self.is_cut:
            raise CockpitError("cut")
        return Reply(200, self.objects[path]) if path in self.objects else Reply(404, {})

    @asynccontextmanager
    async def stream(self, path: str, **_: Any) -> AsyncIterator[Any]:
        """The log of any pod: a training that tells its throughput."""
        self.reads.append(path)

        async def chunks() -> AsyncIterator[bytes]:
            yield b"2026-01-27T14:00:00.5Z " + self.first_line + b"\n"
            for step in range(1, 5):
                yield f"2026-01-27T14:0{step}:00.5Z progress step={step}0 samples_per_s=9.5 size=1\n".encode()

        yield SimpleNamespace(status=200, chunks=chunks())


def refused(
    status: int,
    reason: str = "",
    message: str = "no",
    *,
    about: str = "",
    name: str = "",
    causes: tuple[StatusCause, ...] = (),
    path: str = "",
    retry_after_seconds: float | None = None,
    error: type[Answered] = Refused,
) -> Answered:
    """What `cockpit.kube.calls.perform` raises for a Status; `about` and `name` are its details."""
    said = ServerStatus(status, reason, message, retry_after_seconds, causes, name, kind=about)
    return error(f"{path}: {message} ({status})", read_refusal(status, said, path))


def newer() -> Answered:
    """409: the object was written since it was read."""
    return refused(409, "Conflict", "Operation cannot be fulfilled: the object has been modified")


def missing(resource: str, name: str, path: str = "") -> Answered:
    """404: the object, or the namespace, is not there."""
    return refused(404, "NotFound", f'{resource} "{name}" not found', about=resource, name=name, path=path)


def forbidden(resource: str = "mpijobs", verb: str = "delete") -> Answered:
    """403: the authorizer misses a right."""
    why = f'User "ann" cannot {verb} resource "{resource}" in API group "x.io" in the namespace "team-a"'
    return refused(403, "Forbidden", f"{resource} is forbidden: {why}", about=resource)


class Server:
    """Stands for cockpit.kube.calls.perform: remembers calls; fails as told, one entry a call."""

    def __init__(
        self, *answers: Exception | None, then: Callable[[Call], None] | None = None, tree: Any = None
    ) -> None:
        self._tree = tree or {}
        self.calls: list[tuple[Call, bool]] = []
        self._answers = list(answers)
        self._then = then

    async def __call__(self, session: Any, call: Call, *, dry_run: bool = False) -> Reply:
        self.calls.append((call, dry_run))
        if self._then is not None:
            self._then(call)
        answer = self._answers.pop(0) if self._answers else None
        if answer is not None:
            raise answer
        return Reply(200, self._tree)


class Lines:
    """An audit in memory; refuses from the line with number `full_at` on."""

    def __init__(self, full_at: int | None = None) -> None:
        self.entries: list[Entry] = []
        self.kept: dict[str, Mapping[str, Any]] = {}
        self._full_at = full_at

    def append(self, entry: Entry) -> None:
        if self._full_at is not None and len(self.entries) >= self._full_at:
            raise BadInput("the audit file cannot be written")
        self.entries.append(entry)

    def keep(self, audit_id: str, manifest: Mapping[str, Any]) -> None:
        if self._full_at == 0:
            raise BadInput("the manifest cannot be kept")
        self.kept[audit_id] = manifest


_VERSIONS = {"MPIJob": "kubeflow.org/v2beta1", "Job": "batch/v1", "Pod": "v1"}


def job(name: str = "llm", namespace: str = "team-a", kind: str = "MPIJob", **more: Any) -> Job:
    """A running gang."""
    fields: dict[str, Any] = {
        "key": f"{kind}/{namespace}/{name}",
        "uid": f"uid-{name}",
        "api_version": {"MPIJob": "kubeflow.org/v2beta1", "Job": "batch/v1", "Pod": "v1"}.get(
            kind, "x.io/v1"
        ),
        "kind": kind,
        "namespace": namespace,
        "name": name,
        "resource_version": "41",
        "state": JobState.RUNNING,
        **more,
    }
    return Job(**fields)


def pod(name: str, phase: str = "Running", gpus: int = 2) -> Pod:
    """A bound pod of team-a."""
    return Pod(
        uid=f"uid-{name}",
        name=name,
        namespace="team-a",
        resource_version="7",
        phase=phase,
        node="n1",
        gpus=gpus,
    )


def store_of(*pods: Pod, **tables: Any) -> Store:
    """A store with these pods; other kinds by their word, e.g. mpijobs=(record,)."""
    store = Store()
    store.apply(Batch(kind=Kind.POD, changed=tuple(pods)))
    for kind, records in tables.items():
        store.apply(Batch(kind=kind, changed=tuple(records)))
    return store


def rights_of(plan: Plan) -> tuple[Right, ...]:
    """Those that the whole plan needs of the cluster, each once."""
    later = () if plan.goes_on is None else plan.goes_on.evictions
    return tuple(dict.fromkeys(right_of(call) for call in (*plan.calls, *plan.later, *later) if not call.via))
