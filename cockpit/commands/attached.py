"""One attachment for the length of one command: attach, wait until the lists are whole, leave."""

import asyncio
import contextlib
import random
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from cockpit.api_server import ApiServer
from cockpit.attach import Attachment, AttachOptions, Link
from cockpit.clock import Clock
from cockpit.commands.exposure import exposure_notes
from cockpit.commands.output import note
from cockpit.commands.patience import paused
from cockpit.commands.settings import settings_in_force
from cockpit.errors import BadInput, LoginExpired, NoConnection, Refused
from cockpit.kube.logins import Lender, Logins, ask_first
from cockpit.local_state.crashes import Crashes
from cockpit.model.batch import Phase, StreamStatus
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.right import cannot
from cockpit.model.session import Connection
from cockpit.model.trust import Trust
from cockpit.sanitise import SHORT, clean
from cockpit.terminal import own_terminal
from cockpit.triage.namespace_notes import absent_words, missing_namespaces, namespace_notes

if TYPE_CHECKING:
    from cockpit.kube.session import ApiSession

QUIET_SECONDS = 0.3
"""Lists that follow from other lists (owners of pods) have come when nothing changed for this long."""
LONGEST_QUIET_SECONDS = 2.0
CLAIM_KINDS = (Kind.DEVICE_SLICE, Kind.DEVICE_CLAIM)
"""Where GPUs come by claim (DRA) these tell how many a node has and who holds them."""
WEIGHED_KINDS = (Kind.POD, Kind.NODE, Kind.WORKLOAD, Kind.LOCAL_QUEUE, Kind.CLUSTER_QUEUE)
"""What tells whom jobs that ask for GPUs would preempt."""
TELEMETRY_SECONDS = 5.0
"""Patience for GPU samples and alerts once everything else is there."""
_MOST_ROUNDS = 4
"""Reads of what rows rest on before a command says what it has."""
_UNTRUSTED = {
    Trust.UNVERIFIED: "TLS is not verified: anyone on the network path can impersonate the API server;"
    " set certificate-authority in the kubeconfig instead of insecure-skip-tls-verify",
    Trust.PLAIN: "no TLS: anyone on the network path can read and change the traffic;"
    " use an https:// server in the kubeconfig",
}


def session_notes(session: "ApiSession") -> tuple[str, ...]:
    """Warnings of every command on standard error: an unverified server, impersonation, and fields
    of the kubeconfig that have no effect."""
    untrusted = (_UNTRUSTED[session.trust],) if session.trust in _UNTRUSTED else ()
    return (*untrusted, *acts_as_notes(session), *session.notes)


def acts_as_notes(session: Connection) -> tuple[str, ...]:
    """`as viewer: user ann of the kubeconfig acts as viewer (groups: readers)`."""
    acts_as = session.acts_as
    if acts_as is None:
        return ()
    name, groups = clean(acts_as.user, SHORT), clean(", ".join(acts_as.groups), SHORT)
    of_groups = f" (groups: {groups})" if groups else ""
    return (f"as {name}: user {session.user} of the kubeconfig acts as {name}{of_groups}",)


class Live:
    """A running attachment and the one thing a command waits for: that its lists are whole."""

    def __init__(
        self, attachment: Attachment, task: asyncio.Task[None], moved: asyncio.Event, logins: Logins
    ) -> None:
        self.attachment = attachment
        self._logins = logins
        self._task = task
        self._moved = moved
        self._noted: frozenset[str] = frozenset()  # what was said of the session

    async def settle(
        self,
        kinds: Sequence[str],
        timeout_seconds: float,
        *,
        with_gpus: bool = False,
        with_alerts: bool = False,
        tells_rest: bool = False,
        may_be_new: bool = False,
    ) -> tuple[str, ...]:
        """Wait until each kind is listed, denied or not served; a note comes back for each that is not live.

        Raises NoConnection when the cluster cannot be reached or is not done in time; Refused when the first
        kind, the one that is asked for, may not be listed, unless the command `tells_rest`; and BadInput
        where no namespace of the name exists, unless it `may_be_new`.
        """
        clock, named = self.attachment.clock, self.attachment.options.namespaces
        end = clock.monotonic() + timeout_seconds
        waited = (*kinds, Kind.NAMESPACE) if named else tuple(kinds)
        while not self.attachment.is_settled(waited):
            self._refuse_failure()
            if not await self._next(end - clock.monotonic()):
                raise NoConnection(self._late(waited, timeout_seconds))
        self._refuse_failure()
        missing = missing_namespaces(self.attachment.store, named)
        if named and missing == named.names and not may_be_new:
            raise BadInput(f"{absent_words(missing)}; see kubectl get namespaces")
        has_alerts = with_alerts and bool(self.attachment.options.alertmanager.url)
        late = (*((Kind.GPU,) if with_gpus else ()), *((Kind.ALERT,) if has_alerts else ()))
        samples_end = min(end, clock.monotonic() + TELEMETRY_SECONDS)
        while not self.attachment.is_settled(late) and await self._next(samples_end - clock.monotonic()):
            continue
        # A busy cluster is never quiet: what follows from the lists gets a bounded time to come.
        quiet_end = min(end, clock.monotonic() + LONGEST_QUIET_SECONDS)
        while await self._next(min(QUIET_SECONDS, quiet_end - clock.monotonic())):
            continue
        self.attachment.jobs.catch_up()
        if self.attachment.session is not None:
            self._note_once(session_notes(self.attachment.session))
            self._note_once(exposure_notes(self.attachment.options, settings_in_force()))
        notes = (
            *self._namespace_notes(),
            *self._notes(kinds, tells_rest=tells_rest),
            *(self._telemetry_notes() if with_gpus else ()),
            *(self._alert_notes() if has_alerts else ()),
        )
        told = {status.message for _, status in self._troubled(kinds)}
        if with_gpus and (gpus := self.attachment.store.status(Kind.GPU)) is not None:
            told.add(gpus.message)
        return (*notes, *(item for item in self.attachment.faults.values() if item not in told))

    def _note_once(self, notes: Iterable[str]) -> None:
        """A command that waits twice says it once."""
        new = [note for note in notes if note not in self._noted]
        self._noted |= frozenset(new)
        note(new)

    async def judge_idle_jobs(self) -> None:
        """Have jobs that look idle judged by what they did over the last hours; a connection that is lost
        meanwhile is told by the notes."""
        with contextlib.suppress(NoConnection):
            await ApiServer(self.attachment).read_idle_jobs_once()

    async def read_rows(self, rows: Callable[[], Iterable[tuple[Pod, ...]]]) -> None:
        """Read what rows (the members of each) rest on and no watch covers, until nothing is new, for a
        few rounds at most."""
        with contextlib.suppress(NoConnection):
            for _ in range(_MOST_ROUNDS):
                if not await ApiServer(self.attachment).read_on_demand(rows()):
                    return

    async def _next(self, seconds: float) -> bool:
        if seconds <= 0:
            return False
        self._moved.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._moved.wait()
        except TimeoutError:
            return False
        return True

    def _refuse_failure(self) -> None:
        if self.attachment.link in (Link.FAILED, Link.WAITING):
            raise NoConnection(self.attachment.sentence)
        if self._task.done():
            error = None if self._task.cancelled() else self._task.exception()
            if error is not None:
                raise error
            raise NoConnection(
                self.attachment.sentence or "the connection ended before all lists were complete"
            )

    def _late(self, kinds: Sequence[str], timeout_seconds: float) -> str:
        if self.attachment.faults:
            return next(iter(self.attachment.faults.values()))
        if self._logins.running:
            return late_login(self._logins.running, timeout_seconds)
        if self.attachment.link is not Link.ATTACHED:
            return f"no answer from the cluster within {timeout_seconds:g} s; give a longer --timeout"
        open_ = [
            kind
            for kind in kinds
            if (status := self.attachment.store.status(kind)) is None
            or status.phase in (Phase.CONNECTING, Phase.LISTING)
        ]
        return f"not listed within {timeout_seconds:g} s: {', '.join(open_)}; give a longer --timeout"

    def _namespace_notes(self) -> tuple[str, ...]:
        """Which namespaces are shown where a person chose none, and what is amiss with those shown."""
        attachment, shown = self.attachment, self.attachment.namespaces
        notes = namespace_notes(attachment.store, shown)
        if shown == attachment.options.namespaces:
            return notes
        return (f"only {shown.words}: {cannot('list pods in all namespaces')}; others with -n", *notes)

    def _notes(self, kinds: Sequence[str], *, tells_rest: bool) -> tuple[str, ...]:
        notes: list[str] = []
        for kind, status in self._troubled(kinds):
            sentence = f"{kind}: {status.message or status.phase.value}"
            if kind == kinds[0] and status.phase is Phase.DENIED and not tells_rest:
                raise Refused(sentence)
            if kind == kinds[0] and status.phase is Phase.NOT_LOGGED_IN:
                raise LoginExpired(sentence)
            if kind == kinds[0] and status.phase is Phase.BACKING_OFF and not status.objects:
                raise NoConnection(sentence)
            notes.append(sentence)
        return tuple(notes)

    def _troubled(self, kinds: Sequence[str]) -> Iterator[tuple[str, StreamStatus]]:
        for kind in kinds:
            status = self.attachment.store.status(kind)
            if status is None or (status.phase in (Phase.LIVE, Phase.ABSENT) and not status.is_partial):
                continue
            if kind in CLAIM_KINDS and not self.attachment.store.uses_claims:
                continue  # nothing comes by claim: it is nobody's concern that these may not be read
            yield kind, status

    def _telemetry_notes(self) -> tuple[str, ...]:
        """Why GPU readings are missing; a command that prints `n/c` must say where that comes from."""
        status = self.attachment.store.status(Kind.GPU)
        if status is None or status.phase in (Phase.CONNECTING, Phase.LISTING):
            return (f"gpus: no readings within {TELEMETRY_SECONDS:g} s",)
        return (f"gpus: {status.message}",) if status.message else ()

    def _alert_notes(self) -> tuple[str, ...]:
        """What is wrong with alerts that are read; that they are not is a finding."""
        status = self.attachment.store.status(Kind.ALERT)
        if status is None or status.phase is not Phase.LIVE or not status.message:
            return ()
        return (f"alerts: {status.message}",)


def late_login(plugin: str, timeout_seconds: float) -> str:
    """The sentence where the time was up while a credential plugin was at work."""
    return (
        f"the credential plugin {plugin} did not answer within {timeout_seconds:g} s;"
        " run it once in another terminal, or give a longer --timeout"
    )


async def logins_for(options: AttachOptions, clock: Clock, lender: Lender | None = None) -> Logins:
    """Where a command keeps its login. A plugin that may ask is run here, while no time limit runs; on the
    terminal of `lender`, which several clusters share, else on that of this process."""
    logins = Logins(lender or own_terminal())
    with paused():
        await ask_first(logins, options.kubeconfig, options.context, clock)
    return logins


@contextlib.asynccontextmanager
async def attached(
    options: AttachOptions, clock: Clock, lender: Lender | None = None
) -> AsyncGenerator[Live]:
    """An attachment that runs while the block runs, and is gone after it; `lender` as of `logins_for`."""
    moved = asyncio.Event()
    crashes = Crashes.of_this_user(clock)
    logins = await logins_for(options, clock, lender)
    attachment = Attachment(options, clock, random.Random(), moved.set, note=crashes.note, logins=logins)
    task = asyncio.create_task(attachment.run(), name="attachment")
    task.add_done_callback(lambda _done: moved.set())
    try:
        yield Live(attachment, task, moved, logins)
    finally:
        task.cancel()
        # What it raised was either told already or is the cancelling itself.
        await asyncio.gather(task, return_exceptions=True)
