"""The app on a scripted estate, without any server: records and a clock that stands decide what is drawn."""

import asyncio
import random
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from cockpit.app import AppOptions, CockpitApp
from cockpit.attach import Attachment, AttachOptions, Link
from cockpit.clock import ManualClock
from cockpit.model.job import Job
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.trust import Trust
from tests.tui import looking, scripted_logs
from tests.tui.estate import NOW, Estate


class ScriptedApp(CockpitApp):
    """A cockpit whose attachment is filled from an `Estate` instead of a server."""

    def __init__(
        self,
        estate: Estate | None,
        *,
        write: bool = False,
        place: str = "now",
        state_folder: Path | None = None,
    ) -> None:
        super().__init__(
            AppOptions(
                AttachOptions(write=write), attach=False, first_place=place, state_folder=state_folder
            ),
            clock=ManualClock(NOW),
            rng=random.Random(1),
        )
        self.fill(estate, write=write)

    def fill(self, estate: Estate | None, *, write: bool) -> None:
        """Put the estate into the attachment; None leaves it unattached."""
        if estate is None:
            return
        fill(self.attachment, estate, write=write)


def fill(attachment: Attachment, estate: Estate, *, write: bool, context: str = "prod-eu") -> None:
    """Attach it to a session without a server, and put the estate into its store."""
    attachment.session = cast(Any, _session(write, attachment, context))
    attachment.link = Link.ATTACHED
    for batch in estate.batches():
        attachment.store.apply(batch)
    attachment.jobs.catch_up()


def _session(write: bool, attachment: Attachment, context: str) -> SimpleNamespace:
    session = SimpleNamespace(
        context=context,
        namespace="team-a",
        server="https://api.example:6443",
        user="ada",
        trust=Trust.VERIFIED,
        acts_as=None,
        server_version=(1, 36),
        pulse=SimpleNamespace(api_seconds=0.012, unanswered_since_seconds=None),
        read_only=not write,
    )

    def unlock() -> None:
        session.read_only = False

    def lock() -> None:
        session.read_only = True

    async def request(method: str = "", path: str = "", *_: object, **__: object) -> SimpleNamespace:
        """A job is read as the store has it; whatever is written is taken."""
        if "/leases/" in path and method == "GET":
            return SimpleNamespace(status=404, body=b"", ok=False, json=dict, message=lambda: "gone")
        if path.endswith("/selfsubjectaccessreviews"):
            yes = {"status": {"allowed": True}}
            return SimpleNamespace(status=201, body=b"{}", ok=True, json=lambda: yes, message=lambda: "")
        jobs = attachment.jobs.jobs.values() if method == "GET" else ()
        if path == "/api/v1/pods":
            pods = attachment.store.records(Kind.POD).values()
            tree = {"items": [_pod_as_read(one) for one in pods]}
            return SimpleNamespace(status=200, body=b"{}", ok=True, json=lambda: tree, message=lambda: "")
        tree = next((_as_read(one) for one in jobs if _is_at(one, path)), {})
        return SimpleNamespace(status=201, body=b"{}", ok=True, json=lambda: tree, message=lambda: "")

    session.unlock, session.lock, session.request = unlock, lock, request
    session.stream = scripted_logs.stream
    return session


def _is_at(job: Job, path: str) -> bool:
    """Whether a job's object has that path, whatever its kind is called there."""
    return f"/namespaces/{job.namespace}/" in path and path.endswith(f"/{job.name}")


def _as_read(job: Job) -> dict[str, Any]:
    """The job's object, as far as a verb looks at it."""
    metadata = {"name": job.name, "namespace": job.namespace, "uid": job.uid}
    return {"metadata": {**metadata, "resourceVersion": job.resource_version}}


def _pod_as_read(pod: Pod) -> dict[str, Any]:
    """A pod, as far as a drain looks at it."""
    metadata: dict[str, Any] = {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid}
    if pod.owner_kind:
        owner = {"kind": pod.owner_kind, "name": pod.owner_name, "controller": True}
        metadata["ownerReferences"] = [owner]
    return {"metadata": metadata, "spec": {"nodeName": pod.node}, "status": {"phase": pod.phase}}


async def settle(pilot: Any) -> None:
    """Let every message and repaint happen."""
    for _ in range(3):
        await pilot.pause()
        await asyncio.sleep(0)


async def until(app: CockpitApp, pilot: Any, holds: Callable[[], bool]) -> None:
    """Let messages and workers run until it holds; fails with the screen."""
    for _ in range(200):
        await settle(pilot)
        if holds():
            return
    raise AssertionError(f"it never came\n{looking.text(app).rstrip()}")
