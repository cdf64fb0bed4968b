"""TensorBoard of a job on this machine's loopback, as long as its page is there."""

import asyncio

from cockpit_widgets.types import Pair

from cockpit.actions.forward import Passage, find_board, hold_open
from cockpit.errors import BadInput, CockpitError
from cockpit.keep.audit import Audit
from cockpit.listener import LOOPBACK, Listener
from cockpit.model.job import Job
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.screens.place import Place

LINE = "TensorBoard"
BY_KEY = "ended by key"
_WHO = "whoever is logged in on this machine can open it, too; it ends with this page"


def address(listener: Listener) -> str:
    """`http://127.0.0.1:40123/`: what a browser is given."""
    return f"http://{LOOPBACK}:{listener.port}/"


class BoardForward(Place):
    """`B` opens the port, `B` again ends it; so do the end of the pod, of the page and of the app."""

    _listener: Listener | None = None
    _passage: Passage | None = None
    _end: "asyncio.Future[str] | None" = None
    _said: str = ""
    _is_opening: bool = False

    def board_job(self) -> Job | None:
        """The job of the page; None where it is gone."""
        return None

    def board_members(self) -> tuple[Pod, ...]:
        """Its members."""
        return ()

    def action_tensorboard(self) -> None:
        if self._listener is not None:
            self._finish(BY_KEY)
        elif not self._is_opening:
            self.run_worker(self._open(), name="tensorboard", group="tensorboard")

    def board_pairs(self) -> tuple[Pair, ...]:
        """The address and how much goes through, or how it ended; nothing before the first time."""
        listener, passage = self._listener, self._passage
        if listener is None or passage is None:
            return (Pair(LINE, self._said, "dim"),) if self._said else ()
        counts = f"{listener.open_count} open, {listener.served_count} served"
        said = f"{address(listener)} · {passage.target} · {counts} · B ends it"
        pair = Pair(LINE, said, "good")
        return (pair, Pair("", listener.trouble, "warn")) if listener.trouble else (pair,)

    def watch_board(self) -> None:
        """End it where its pod has ended or is gone; called whenever the store moved."""
        if self._passage is None or self._listener is None:
            return
        pod = self.deck.attachment.store.get(Kind.POD, self._passage.uid)
        if not isinstance(pod, Pod):
            self._finish(f"ended: pod {self._passage.pod} is gone")
        elif pod.is_finished:
            self._finish(f"ended: pod {self._passage.pod} has ended ({pod.phase})")

    def _finish(self, why: str) -> None:
        if self._end is not None and not self._end.done():
            self._end.set_result(why)

    async def _open(self) -> None:
        self._is_opening = True
        try:
            await self._confirm_and_hold()
        except CockpitError as error:
            self._said = f"not opened: {error.sentence}" if self._listener is None else error.sentence
            self.app.notify(error.sentence, severity="error", timeout=8)
        finally:
            self._listener = self._passage = self._end = None
            self._is_opening = False
            self.show()

    async def _confirm_and_hold(self) -> None:
        from cockpit_widgets import ConfirmDialog

        job, session = self.board_job(), self.deck.attachment.session
        if job is None or session is None:
            raise BadInput("no job, or no cluster: there is no TensorBoard to reach")
        folder = self.deck.state_folder
        if folder is None:
            raise BadInput("no state folder: without an audit line nothing is sent")
        name = f"{job.kind.lower()} {job.namespace}/{job.name}"
        passage = await find_board(session, name, self.board_members())
        dialog = ConfirmDialog(
            f"TensorBoard of {job.namespace}/{job.name}",
            (f"{passage.target}, at a port of {LOOPBACK} that the system chooses", _WHO),
            command=passage.line(self.deck.context),
            confirm_label="open",
        )
        if await self.app.push_screen_wait(dialog) is not True:
            return
        audit = Audit(folder / "audit.jsonl")

        async def stay(listener: Listener) -> str:
            return await self._stay_open(passage, listener)

        self._said = await hold_open(passage, session, audit, self.deck.clock, stay, changed=self.show)
        self.app.notify(f"TensorBoard of {job.name}: {self._said}", timeout=8)

    async def _stay_open(self, passage: Passage, listener: Listener) -> str:
        """Until somebody or something ends it; answers why."""
        self._passage, self._listener, self._said = passage, listener, ""
        self._end = asyncio.get_running_loop().create_future()
        self.app.notify(f"TensorBoard: {address(listener)}", timeout=8)
        self.show()
        return await self._end
