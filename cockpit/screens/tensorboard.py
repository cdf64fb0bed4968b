"""TensorBoard of a job on this machine's loopback, as long as its page is there."""

import asyncio
from collections.abc import Callable

from cockpit_widgets import ConfirmDialog
from cockpit_widgets.types import Pair
from textual.worker import WorkType

from cockpit.actions.forward import Passage, why_over
from cockpit.errors import BadInput, CockpitError
from cockpit.listener import LOOPBACK, Listener
from cockpit.model.job import Job
from cockpit.model.pod import Pod
from cockpit.screens.place import Place

LINE = "TensorBoard"
BY_KEY = "closed by key"
_WHO = "any local user can open this port; it closes with this page"

_UNTRIED = "a port-forward has no dry run: the server answers when it opens"


def address(listener: Listener) -> str:
    """`http://127.0.0.1:40123/`: what a browser is given."""
    return f"http://{LOOPBACK}:{listener.port}/"


class TensorBoardForward:
    """`B` opens the port, `B` again ends it; so do the end of the pod, of the page and of the app.

    `whose` names the job of the page and its members; None where it is gone.
    """

    def __init__(self, page: Place, whose: Callable[[], tuple[Job, tuple[Pod, ...]] | None]) -> None:
        self._page = page
        self._whose = whose
        self._listener: Listener | None = None
        self._passage: Passage | None = None
        self._end: asyncio.Future[str] | None = None
        self._said = ""
        self._is_opening = False

    def toggle(self) -> None:
        """Open it, or end it."""
        if self._listener is not None:
            self._finish(BY_KEY)
        elif not self._is_opening:
            work: WorkType[None] = self._open
            self._page.run_worker(work, name="tensorboard", group="tensorboard")

    def pairs(self) -> tuple[Pair, ...]:
        """The address and how much goes through, or how it ended; nothing before the first time."""
        listener, passage = self._listener, self._passage
        if listener is None or passage is None:
            return (Pair(LINE, self._said, "dim"),) if self._said else ()
        counts = f"{listener.open_count} open, {listener.served_count} served"
        said = f"{address(listener)} · {passage.target} · {counts} · B closes it"
        pair = Pair(LINE, said, "good")
        return (pair, Pair("", listener.trouble, "warn")) if listener.trouble else (pair,)

    def watch(self) -> None:
        """End it where its pod has ended or is gone; called whenever the store moved."""
        if self._passage is None or self._listener is None:
            return
        if why := why_over(self._passage, self._page.cockpit.cluster.store):
            self._finish(why)

    def _finish(self, why: str) -> None:
        if self._end is not None and not self._end.done():
            self._end.set_result(why)

    async def _open(self) -> None:
        self._is_opening = True
        try:
            await self._confirm_and_forward()
        except CockpitError as error:
            self._said = f"not opened: {error.sentence}" if self._listener is None else error.sentence
            self._page.app.notify(error.sentence, severity="error")
        finally:
            self._listener = self._passage = self._end = None
            self._is_opening = False
            self._page.show()

    async def _confirm_and_forward(self) -> None:
        found, cockpit = self._whose(), self._page.cockpit
        if found is None or not cockpit.cluster.is_connected:
            raise BadInput("no job or no cluster: there is no TensorBoard to open")
        job, members = found
        audit = cockpit.audit()
        name = f"{job.kind.lower()} {job.namespace}/{job.name}"
        passage = await cockpit.api.find_board(name, members)
        dialog = ConfirmDialog(
            f"TensorBoard of {job.namespace}/{job.name}",
            (f"{passage.target}, on a free port of {LOOPBACK}", _WHO, _UNTRIED),
            command=passage.line(cockpit.context),
            confirm_label="open",
        )
        if await self._page.app.push_screen_wait(dialog) is not True:
            return

        async def stay(listener: Listener) -> str:
            return await self._stay_open(passage, listener)

        self._said = await cockpit.api.hold_open(passage, audit, stay, changed=self._page.show)
        self._page.app.notify(f"TensorBoard of {job.name}: {self._said}")

    async def _stay_open(self, passage: Passage, listener: Listener) -> str:
        """Wait until it is ended; returns why."""
        self._passage, self._listener, self._said = passage, listener, ""
        self._end = asyncio.get_running_loop().create_future()
        self._page.app.notify(f"TensorBoard: {address(listener)}")
        self._page.show()
        return await self._end
