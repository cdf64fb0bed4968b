"""The life of a job by keys: kill, suspend or resume, retry, clone, resize, priority, prune."""

from collections.abc import Coroutine
from datetime import UTC, datetime
from functools import partial
from typing import Any

from cockpit_widgets import ChoiceDialog
from cockpit_widgets.types import ChoiceItem

from cockpit.errors import CockpitError
from cockpit.model.job import Job
from cockpit.model.plan import Outcome
from cockpit.screens.acting import MakePlan, act, ground_of
from cockpit.screens.place import Place

AGES = (("1h", "an hour"), ("1d", "a day"), ("7d", "a week"), ("30d", "thirty days"))


class LifeVerbs(Place):
    """Verbs on the job that `chosen_job` names, or on all that `marked_jobs` gives."""

    def chosen_job(self) -> Job | None:
        """The job that the keys mean now; None when there is none."""
        return None

    def marked_jobs(self) -> tuple[Job, ...]:
        """The jobs of the marked rows; () where none is marked or rows are no jobs."""
        return ()

    def clear_marks(self) -> None:
        """Unmark every row, after what was marked for is done."""

    def say(self, sentence: str) -> None:
        """A small remark that changes nothing."""
        self.app.notify(sentence, markup=False, timeout=5)

    def meant(self, verb: str) -> tuple[Job, ...]:
        """The jobs that a verb is for: the marked ones, else the one under the cursor; () after saying so."""
        if marked := self.marked_jobs():
            return marked
        job = self.chosen_job()
        if job is None:
            self.say(f"no job under the cursor to {verb}")
            return ()
        return (job,)

    def _act(self, verb: str, make: MakePlan, jobs: tuple[Job, ...] | None = None, shell: str = "") -> None:
        chosen = self.meant(verb) if jobs is None else jobs
        if chosen:
            work = act(self.deck, verb, chosen, make, say=self.say, then=self._acted, shell=shell)
            self.deck.run_soon(work, verb)

    def _acted(self, outcome: Outcome) -> None:
        if outcome.is_done:
            self.clear_marks()
        self.show()

    # ---- keys

    def action_kill(self) -> None:
        from cockpit.actions import ground

        self._act("kill", ground.kill)

    def action_hold(self) -> None:
        """Resume where all that is meant is held, else suspend what is not."""
        from cockpit.actions import ground
        from cockpit.actions.hold import is_held

        jobs = self.meant("suspend or resume")
        if jobs and all(is_held(one) for one in jobs):
            self._act("resume", ground.resume, jobs)
        elif jobs:
            self._act("suspend", ground.suspend, jobs)

    def action_retry(self) -> None:
        from cockpit.actions import ground

        at = datetime.fromtimestamp(self.deck.clock.now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._act("retry", partial(ground.retry, at=at))

    def action_clone(self) -> None:
        self._with_one("clone", self._clone)

    def action_resize(self) -> None:
        self._with_one("resize", self._resize)

    def action_prioritise(self) -> None:
        if jobs := self.meant("prioritise"):
            self.deck.run_soon(self._guarded(self._prioritise(jobs)), "prioritise")

    def action_prune(self) -> None:
        self.deck.run_soon(self._guarded(self._prune()), "prune")

    # ---- what takes a read or a choice before there is a plan

    def _with_one(self, verb: str, work: Any) -> None:
        jobs = self.meant(verb)
        if len(jobs) > 1:
            self.say(f"one job at a time to {verb}: unmark the others")
        elif jobs:
            self.deck.run_soon(self._guarded(work(jobs[0])), verb)

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except CockpitError as error:
            self.say(error.sentence)

    async def _clone(self, job: Job) -> None:
        from cockpit.actions import ground
        from cockpit.screens.clone import CloneScreen

        template = await ground.clone_form(ground_of(self.deck), job)
        self.app.push_screen(CloneScreen(job, template))

    async def _resize(self, job: Job) -> None:
        from cockpit.actions import ground
        from cockpit.actions.job_size import size_of
        from cockpit.errors import BadInput
        from cockpit.screens.resize import ResizeScreen

        tree = await ground.tree_of(ground_of(self.deck), job)
        size = size_of(tree)
        if size.why_not:
            raise BadInput(f"{job.kind.lower()} {job.namespace}/{job.name}: {size.why_not}")
        self.app.push_screen(ResizeScreen(job, tree, size.now))

    async def _prioritise(self, jobs: tuple[Job, ...]) -> None:
        from cockpit.actions import ground

        items = await self._priorities(jobs)
        name = f"{len(jobs)} jobs" if len(jobs) > 1 else f"{jobs[0].namespace}/{jobs[0].name}"
        chosen = await self.app.push_screen_wait(ChoiceDialog(f"Priority or queue of {name}", items))
        if chosen is None:
            return
        what, _, value = chosen.partition(" ")
        make = (
            partial(ground.prioritise, queue=value)
            if what == "queue"
            else partial(ground.prioritise, priority=value)
        )
        self._act("prioritise", make, jobs)

    async def _priorities(self, jobs: tuple[Job, ...]) -> list[ChoiceItem]:
        """Priority classes, then the queues that these jobs could move to."""
        from cockpit.actions.choices import priority_classes
        from cockpit.model.record import Kind

        is_kueue = any(one.engine == "Kueue" for one in jobs)
        found = await priority_classes(ground_of(self.deck), is_kueue=is_kueue)
        items = [ChoiceItem(f"priority {name}", f"priority {name}", str(value)) for name, value in found]
        spaces, here = {one.namespace for one in jobs}, {one.queue for one in jobs}
        if is_kueue and len(spaces) == 1:
            queues = self.deck.attachment.store.records(Kind.LOCAL_QUEUE).values()
            names = sorted({one.name for one in queues if one.namespace in spaces} - here)
            items += [ChoiceItem(f"queue {name}", f"queue {name}", "move it there") for name in names]
        return items

    async def _prune(self) -> None:
        from cockpit.actions import ground
        from cockpit.actions.prune import ended_before, prune_line
        from cockpit.errors import BadInput
        from cockpit.views.view_state import Measure, read_number

        items = [ChoiceItem(age, f"older than {words}", age) for age, words in AGES]
        dialog = ChoiceDialog("Delete finished jobs", items, placeholder="or an age: 12h, 3d", is_free=True)
        age = await self.app.push_screen_wait(dialog)
        if age is None:
            return
        seconds = read_number(age, Measure.SECONDS)
        if seconds is None or seconds < 0:
            raise BadInput(f"{age!r} is no age; write for example 12h or 7d")
        attachment, space = self.deck.attachment, self.deck.attachment.options.namespace
        every = (one for one in attachment.jobs.jobs.values() if space in ("", one.namespace))
        jobs = tuple(ended_before(every, self.deck.clock.now() - seconds))
        if not jobs:
            self.say(f"no job ended more than {age} ago")
            return
        self._act("prune", ground.kill, jobs, prune_line(age, "", self.deck.context))
