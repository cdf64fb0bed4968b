"""`w`: why something waits or is broken, what would start it, and when."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from typing import ClassVar

from cockpit_widgets import LogView, ResourceTable
from cockpit_widgets.log_view import broken_lines
from cockpit_widgets.panel import FRAMED, Panel
from textual.binding import BindingType
from textual.widget import Widget

from cockpit.actions.offered import CLONE_ID, intended
from cockpit.errors import CockpitError
from cockpit.gangs import registry
from cockpit.model.finding import Change, Subject
from cockpit.model.job import Job
from cockpit.screens.explanation import Explanation
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.place import Place
from cockpit.screens.row_sentence import RowSentence
from cockpit.screens.text import YamlScreen
from cockpit.screens.verb_keys import act
from cockpit.triage.engine import job_behind
from cockpit.views import why as view

READ_SECONDS = 15.0
"""Interval at which reads on demand are repeated while the page is open."""
MARGIN_CELLS, FRAME_CELLS = 4, 2


class WhyScreen(Place):
    """The sentence, the offers as rows, and under them what the verdict rests on."""

    DEFAULT_CSS = """
    WhyScreen #head { height: 1; padding: 0 1; overflow-y: hidden; }
    WhyScreen #offers-panel { display: none; height: auto; max-height: 40%; }
    WhyScreen #offers-panel.some { display: block; }
    WhyScreen #offers { height: auto; }
    WhyScreen #text-panel { height: 1fr; }
    WhyScreen #text { height: 1fr; padding: 0 1; }
    """
    place = "why"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("open", "back", "yaml", "panel", *EVERYWHERE[1:])]

    def __init__(self, subject: Subject) -> None:
        super().__init__()
        self._subject = subject
        self._lines: dict[tuple[str, int], str] = {}
        self._has_read = False
        self._shown: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())

    def body(self) -> Iterable[Widget]:
        head = LogView(id="head", follow=False)
        head.can_focus = False
        with Panel(id="about", classes="bare"):
            yield head
        with Panel(id="offers-panel"):
            yield ResourceTable(id="offers")
        with Panel(id="text-panel"):
            yield LogView(id="text", follow=False)

    def foot(self) -> Iterable[Widget]:
        yield RowSentence()

    def on_mount(self) -> None:
        self.query_one("#about", Panel).set_title(self.heading)
        self.query_one("#text-panel", Panel).set_title("What it rests on")
        self.set_focus(self.query_one("#text"))  # before the first offers, which take it
        self.cockpit.keep(self, "why", self._read_on)

    @property
    def heading(self) -> str:
        return f"why {self._subject.text}"

    # ---- what is known

    @cached_property
    def about(self) -> Explanation:
        """What the page is about."""
        return Explanation(self.cockpit, self._subject)

    async def _read_on(self) -> None:
        while True:
            if not self._has_read or self.app.screen is self:
                with suppress(CockpitError):  # what was read before stays; the header tells the trouble
                    folders = self.cockpit.template_folders
                    about = self.about
                    about.take(
                        await self.cockpit.api.ask_verdict(self._subject, about.view(), self._lines, folders)
                    )
                    self._has_read = True
                    self.show()
            await asyncio.sleep(READ_SECONDS)

    # ---- what is shown

    def project(self) -> None:
        known = self.about.view()
        page = view.page(self.about.explained(known), known, self.cockpit.docs_url)
        room = max(20, self.size.width - MARGIN_CELLS - FRAME_CELLS * self.has_class(FRAMED))
        head, rest = (broken_lines(item, room) for item in (page.head, page.full_rest))
        if (head, rest) != self._shown:
            top, text = self.query_one("#head", LogView), self.query_one("#text", LogView)
            top.styles.height = len(head)
            if head != self._shown[0]:
                top.replace(head)
            if rest != self._shown[1]:
                text.replace(rest)
            self._shown = (head, rest)
        self._offer(page, known.now_seconds)

    def _offer(self, page: view.WhyPage, now_seconds: float) -> None:
        table = self.query_one("#offers", ResourceTable)
        panel = self.query_one("#offers-panel", Panel)
        were_there = panel.has_class("some")
        table.set_source(view.offers_table(page, now_seconds))
        panel.set_class(bool(page.offers), "some")
        panel.set_title("Offers", f"{len(page.offers)}")
        if page.offers and not were_there:
            self.set_focus(table)
        elif were_there and not page.offers:
            self.set_focus(self.query_one("#text"))
        self._say()

    def on_resize(self) -> None:
        self.call_after_refresh(self.show)

    # ---- offers

    @property
    def is_read(self) -> bool:
        """Whether what is read on demand is in what is shown."""
        return self.about.is_read

    @property
    def offers(self) -> tuple[Change, ...]:
        """What would start it."""
        verdict = self.about.verdict
        return () if verdict is None else verdict.changes

    @property
    def offer(self) -> Change | None:
        """The one under the cursor."""
        key = self.query_one("#offers", ResourceTable).cursor_key
        return next((item for item in self.offers if view.offer_key(item) == key), None)

    def _say(self) -> None:
        """The command of the offer under the cursor."""
        if not self.is_going:
            one = self.offer
            self.query_one(RowSentence).say("" if one is None else view.foot_line(one))

    def on_resource_table_row_highlighted(self, event: ResourceTable.RowHighlighted) -> None:
        event.stop()
        self._say()

    def on_resource_table_row_activated(self, event: ResourceTable.RowActivated) -> None:
        event.stop()
        offer = self.offer
        if offer is None:
            return
        if not offer.command:
            self.say(view.NO_COMMAND.format(offer.words))
        elif not offer.verb:
            self.say(f"no key does this: run {view.command_text(offer)}")
        elif self.cockpit.cluster.is_read_only:
            self.say("read-only: unlock with :write, or run the command at the foot")
        else:
            self._carry(offer)

    def _carry(self, offer: Change) -> None:
        """The verb's plan, or its form with what the offer says."""
        try:
            intent = intended(offer, self.cockpit.planner()())
        except CockpitError as error:
            self.say(error.sentence)
            return
        if offer.verb == CLONE_ID:
            self.cockpit.open_clone(self, intent.things[0], intent.options)
        else:
            act(self.app, intent.verb, intent.things, intent.options, say=self.say, then=self.acted)

    # ---- keys

    def action_panel(self) -> None:
        self.focus_next()

    def action_yaml(self) -> None:
        subject, cluster = self._subject, self.cockpit.cluster
        if subject.kind in ("pod", "node"):
            kind = subject.kind.capitalize()
            self.app.push_screen(YamlScreen("v1", kind, subject.namespace, subject.name))
            return
        job: Job | None = job_behind(subject, self.about.view())
        for workload in cluster.store.workloads_of(job.uid) if job else ():
            admitted = registry.admits_of(workload).workload_kind
            self.app.push_screen(YamlScreen(*admitted, workload.namespace, workload.name))
            return
        if job is not None:
            self.app.push_screen(YamlScreen(job.api_version, job.kind, job.namespace, job.name))
        else:
            self.say(f"no YAML of a {subject.kind} here")
