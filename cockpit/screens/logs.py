"""Logs of all members of a job in one view, followed; each line begins with the member's rank."""

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import partial
from typing import ClassVar

from cockpit_widgets import ChoiceDialog, LogView, StatusLine
from cockpit_widgets.panel import Panel
from cockpit_widgets.types import ChoiceItem, StatusSegment, Tone
from textual.binding import BindingType
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input
from textual.worker import WorkType

from cockpit.errors import BadInput, CockpitError
from cockpit.local_state.save import save_lines
from cockpit.model.log import LogLine, LogSource, LogWish
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.place import Place
from cockpit.store.signal import Signal
from cockpit.views import log_book as view
from cockpit.views.log_filter import parse_log_filter
from cockpit.views.view_state import Measure, read_number

REFILTER_SECONDS = 0.1
"""Typing goes on while 50,000 lines are searched again."""
POUR_SECONDS = 1.0
"""A line after a pause is shown at once; of a log that pours, what came is shown so often: on the way to the
terminal each time costs as much as a line of text."""
MOST_WAITING = 2_000
COUNT_SECONDS = 5.0
"""Interval at which the number of lines is updated while they pour in."""
SINCE = ("1m", "10m", "1h", "6h", "1d")
LAST_LINES = "last lines"


class LogsScreen(Place):
    DEFAULT_CSS = """
    LogsScreen #about { height: 1fr; }
    LogsScreen #said { background: $surface; }
    LogsScreen #log { height: 1fr; padding: 0 0 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("filter", "log.since", "log.previous", "search", "log.save", "back", "help"),
        *bindings("log.times", "log.stderr", *EVERYWHERE),
    ]
    place = "logs"
    has_filter = True

    def __init__(self, key: str, uid: str = "") -> None:
        """Logs of the job `key`; of one pod, where its `uid` is given."""
        super().__init__()
        self._key = key
        self._uid = uid
        self._since = ""
        self._is_previous = False
        self._stream = ""
        self._searched = ""
        self._refilter: Timer | None = None
        self._sources: list[LogSource] = []
        self._waiting: list[LogLine] = []
        self._is_reading = True
        self._said: tuple[object, float, list[StatusSegment]] = (None, 0.0, [])

    @property
    def heading(self) -> str:
        return f"logs of {self._key.split('/', 1)[-1]}"

    def body(self) -> Iterable[Widget]:
        with Panel(id="about", classes="bare"):
            yield StatusLine(id="said")
            yield LogView(id="log", follow=True, tone_of=tone_of)

    @property
    def log_view(self) -> LogView:
        return self.query_one("#log", LogView)

    def on_mount(self) -> None:
        self.book = view.LogBook()
        self._pour = Signal(self.cockpit.clock, self.set_timer, POUR_SECONDS)
        self._pour.subscribe(self._show_waiting)
        self.query_one("#filter", Input).placeholder = 'regex  !regex  rank:0-3,7  "two words"'
        self.log_view.focus()
        self._filter_now()
        self._start()

    def focus_body(self) -> None:
        self.set_focus(self.log_view)

    # ---- reading

    def members(self) -> tuple[Pod, ...]:
        """The pods whose logs are shown, launcher first, then by rank."""
        cluster = self.cockpit.cluster
        if not self._uid:
            return tuple(cluster.jobs.members(self._key))
        pod = cluster.store.get(Kind.POD, self._uid)
        return (pod,) if isinstance(pod, Pod) else ()

    def _start(self) -> None:
        """Read again, from the chosen time."""
        self._sources = view.sources_of(self.members())
        self._waiting.clear()
        self._is_reading = True
        self.book.clear()
        self.book.name(self._sources)
        self.log_view.clear()
        self.log_view.set_placeholder("reading ..." if self._sources else self._why_empty())
        tail = view.tail_lines(len(self._sources))
        seconds = read_number(self._since, Measure.SECONDS) if self._since else None
        wish = LogWish(
            tail_lines=None if seconds else tail,
            since_seconds=int(seconds) if seconds else None,
            is_previous=self._is_previous,
            stream=self._stream,
        )
        self.fan_in = self.cockpit.api.follow_logs(wish, self._take)
        self.fan_in.want(self._sources)
        work: WorkType[None] = self._read_all
        self.run_worker(work, name="logs", group="logs", exclusive=True)
        self.show()

    async def _read_all(self) -> None:
        fan_in = self.fan_in
        fan_in.when_read = self._is_read
        await fan_in.run()

    def _is_read(self) -> None:
        self._is_reading = False
        if self._is_shown:
            self.log_view.set_placeholder(self._why_empty())
            self.show()

    @property
    def _is_shown(self) -> bool:
        """False while the page is being closed: what was under way may still end."""
        return self.is_attached and bool(self.query("#log"))

    def _why_empty(self) -> str:
        if not self._sources:
            return f"{self._key.split('/', 1)[-1]} has no pods: there is no log yet"
        if len(self.book):
            return "No line matches the filter."
        for label, sentence in self.fan_in.troubles.items():
            return f"{label}: {sentence}"
        return "No output yet."

    def _take(self, lines: list[LogLine]) -> None:
        self._waiting += lines
        if self._is_reading or len(self._waiting) > MOST_WAITING:
            self._show_waiting()
        else:
            self._pour.notify()

    def _show_waiting(self) -> None:
        if self._is_shown and self._waiting:
            self.log_view.append(self.book.add(self._waiting))
            self._waiting.clear()

    # ---- drawing

    def project(self) -> None:
        sources = view.sources_of(self.members())
        if sources and sources != self._sources:
            known = {(source.uid, source.container) for source in self._sources}
            self._sources += [source for source in sources if (source.uid, source.container) not in known]
            self._show_waiting()
            if self.book.name(sources):
                self.log_view.replace(self.book.shown())
            self.fan_in.want(sources)
        self.query_one("#about", Panel).set_title(self.heading)
        self.query_one("#said", StatusLine).set_segments(self._segments())

    def _segments(self) -> list[StatusSegment]:
        is_following = None if self._is_previous else self.log_view.following
        troubles = tuple(self.fan_in.troubles.items())
        how_far, members, book = self._how_far(), len(self._sources), self.book
        facts = (is_following, troubles, how_far, members, book.filter, book.has_times, self._is_reading)
        now = self.cockpit.clock.monotonic()
        before, told_at, said = self._said
        if facts == before and is_following and not self._is_reading and now - told_at < COUNT_SECONDS:
            return said
        parts = view.summary(
            members=members,
            book=book,
            shown=len(self.log_view),
            how_far=how_far,
            is_following=is_following,
            troubles=troubles,
        )
        said = [StatusSegment(text, tone, at + 1) for at, (text, tone) in enumerate(parts)]
        self._said = (facts, now, said)
        return said

    def _how_far(self) -> str:
        return f"{self._reach()}, {self._stream} only" if self._stream else self._reach()

    def _reach(self) -> str:
        if self._is_previous:
            return "the run before the last restart"
        if self._since:
            return f"since {self._since} ago"
        if self._stream:
            return "the last hour"
        return f"last {view.tail_lines(len(self._sources)):,} lines each"

    # ---- keys

    def set_filter(self, text: str) -> None:
        super().set_filter(text)
        if self._refilter is not None:
            self._refilter.stop()
        self._refilter = self.set_timer(REFILTER_SECONDS, self._filter_now)

    def _filter_now(self) -> None:
        """The last filter that could be read stays in force while a mistake is told."""
        self._refilter = None
        try:
            wanted = parse_log_filter(self.state.filter)
        except BadInput as error:
            self.say_problem(error.sentence)
            return
        self.say_problem("")
        if wanted != self.book.filter:
            self._show_waiting()
            self.book.filter = wanted
            self.log_view.replace(self.book.shown())
            self.log_view.set_placeholder(self._why_empty() if self._sources else "")
        self.show()

    def on_log_view_follow_changed(self) -> None:
        self.show()

    def action_times(self) -> None:
        self._show_waiting()
        self.book.has_times = not self.book.has_times
        self.log_view.replace(self.book.shown())
        self.show()

    def action_previous(self) -> None:
        self._is_previous = not self._is_previous
        self._start()

    def action_stderr(self) -> None:
        """Standard error alone, where this cluster can tell it; both again."""
        if self._stream:
            self._set_stream("")
        elif self._sources:
            work: WorkType[None] = partial(self._ask_for_stderr, self._sources[0])
            self.run_worker(work, name="stderr", group="stderr")

    async def _ask_for_stderr(self, source: LogSource) -> None:
        try:
            await self.cockpit.api.refuse_unsplit(source)
        except CockpitError as error:
            self.notify(error.sentence, severity="warning")
            return
        if not self.is_going:
            self._set_stream("stderr")

    def _set_stream(self, stream: str) -> None:
        self._stream = stream
        self._start()

    def action_since(self) -> None:
        items = [ChoiceItem("", LAST_LINES), *(ChoiceItem(item, f"since {item} ago") for item in SINCE)]
        dialog = ChoiceDialog("Logs since", items, current=self._since, placeholder="30s, 2h", is_free=True)
        self.app.push_screen(dialog, self._set_since)

    def _set_since(self, text: str | None) -> None:
        if text is None:
            return
        seconds = read_number(text, Measure.SECONDS) if text else 1.0
        if seconds is None or not 1 <= seconds <= 366 * 86_400:
            self.notify(f"{text!r} is not a valid duration; write for example 10m or 2h", severity="error")
            return
        self._since, self._is_previous = text, False
        self._start()

    def action_search(self) -> None:
        """Mark a text, or no more where one is marked."""
        if self._searched:
            self._set_search("")
            return
        dialog = ChoiceDialog("Mark", (), placeholder="text, upper or lower case", is_free=True)
        self.app.push_screen(dialog, self._set_search)

    def _set_search(self, text: str | None) -> None:
        if text is None:
            return
        self._searched = text
        self.log_view.set_search(text)
        if text and not self.log_view.action_hit(-1) and not self.log_view.action_hit(1):
            self.notify(f"no visible line contains {text!r}")

    def action_save(self) -> None:
        moment = datetime.fromtimestamp(self.cockpit.clock.now(), UTC)
        name = self._key.split("/", 1)[-1].replace("/", "-")
        path = f"{name}-{moment:%Y%m%d-%H%M%SZ}.log"
        dialog = ChoiceDialog("Save the lines to a new file", [path], placeholder="a path", is_free=True)
        self.app.push_screen(dialog, self._save_to)

    def _save_to(self, path: str | None) -> None:
        if path is not None:
            work: WorkType[None] = partial(self._save, path)
            self.run_worker(work, name="save", group="save", exclusive=False)

    async def _save(self, path: str) -> None:
        self._show_waiting()
        lines = self.book.shown()
        try:
            made, count = await asyncio.to_thread(save_lines, path, lines)
        except CockpitError as error:
            self.notify(error.sentence, severity="error")
            return
        self.notify(f"saved {count:,} lines to {made}")


def tone_of(line: str) -> Tone:
    """Lines of programs that tell of a failure stand out; the cockpit's own remarks bring their tone."""
    return "bad" if view.looks_bad(line) else ""
