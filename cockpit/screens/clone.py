"""`C`: the form of a new job, filled with what another one is."""

from collections.abc import Mapping
from typing import Any

from cockpit.actions.clone_retry import plan_of_clone
from cockpit.errors import CockpitError
from cockpit.jobs.template import Template
from cockpit.model.job import Job
from cockpit.model.plan import Plan
from cockpit.screens.submit import SubmitScreen


class CloneScreen(SubmitScreen):
    """The form of the job once more; every leaf that is no field stays as it was."""

    keeps_values = False

    def __init__(self, job: Job, template: Template, changed: Mapping[str, str] | None = None) -> None:
        """`changed` are values chosen before."""
        own = {parameter.name: parameter.default or "" for parameter in template.parameters}
        values = own | {name: value for name, value in (changed or {}).items() if name in own}
        super().__init__(template.name, values)
        self._job = job
        self._form = template

    @property
    def template(self) -> Template:
        return self._form

    @property
    def heading(self) -> str:
        return f"clone {self._job.namespace}/{self._job.name}"

    @property
    def title_of_form(self) -> str:
        return f"Copy of {self._job.namespace}/{self._job.name}"

    @property
    def has_engine(self) -> bool:
        """Its engine is that of the job, in what the job's object says."""
        return False

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Its template is the job: there is no other to pick."""
        return False if action == "template" else super().check_action(action, parameters)

    def _make(self, *_unused: Any) -> tuple[Plan | None, str]:
        try:
            return plan_of_clone(self.cockpit.planner()(), self._job, self._form, self._values), ""
        except CockpitError as error:
            return None, error.sentence
