"""`Z`: how many workers an elastic job shall have, with what that means, before it is asked for."""

from collections.abc import Mapping
from typing import Any

from cockpit_widgets.types import FieldSpec

from cockpit.actions.job_size import WorkersOptions, plan_resize
from cockpit.actions.verbs.job import RESIZE
from cockpit.errors import BadInput
from cockpit.model.job import Job
from cockpit.model.plan import Plan
from cockpit.screens.one_number import OneNumberScreen
from cockpit.screens.verb_keys import act

LARGEST = 4096


class ResizeScreen(OneNumberScreen):
    """The number of a job's workers; `tree` is the job's object as it was read."""

    def __init__(self, job: Job, tree: Mapping[str, Any], now: int) -> None:
        super().__init__(str(now))
        self._job = job
        self._tree = tree
        self._now = now

    @property
    def heading(self) -> str:
        return f"resize {self._job.namespace}/{self._job.name}"

    def field(self) -> FieldSpec:
        name = f"Workers of {self._job.name}"
        help_ = f"requested now: {self._now}"
        return FieldSpec("to", name, "integer", self._text, help_, "pods", 1, LARGEST)

    def _workers(self) -> int:
        text = self._text.strip()
        if not text.isascii() or not text.isdigit() or len(text) > 6:
            raise BadInput(f"{text!r} is not a whole number of workers")
        return int(text)

    def plan(self) -> Plan:
        workers = self._workers()
        return plan_resize(
            self._job, self._tree, workers, lookup=self.cockpit.cluster.lookup, context=self.cockpit.context
        )

    def carry(self) -> None:
        # Made anew from the object as it is then: the one that was read for the preview grows old.
        options = WorkersOptions(self._workers())
        act(self.app, RESIZE, (self._job,), options, say=self.say_problem, then=self._done)
