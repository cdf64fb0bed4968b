"""A file of manifests, submitted as it is: its path, and what would be created."""

import io
from random import Random

from cockpit_widgets.types import FieldSpec

from cockpit.actions.shell import submit_file_line
from cockpit.actions.submit import plan_objects
from cockpit.errors import BadInput
from cockpit.jobs.manifest_file import read_manifests
from cockpit.model.plan import Plan
from cockpit.screens.one_number import OneNumberScreen
from cockpit.screens.verb_keys import act_on_plan


class SubmitFileScreen(OneNumberScreen):
    """The path of a file; names that it leaves open are chosen once, so that what was shown is created."""

    heading = "submit a file"

    def __init__(self) -> None:
        super().__init__()
        self._seed = Random().getrandbits(64)

    def field(self) -> FieldSpec:
        help_ = "path of manifests in YAML or JSON: one or many objects, of any kind"
        return FieldSpec("to", "File", "text", self._text, help_)

    def plan(self) -> Plan:
        path, cockpit = self._text.strip(), self.cockpit
        if not path:
            raise BadInput("File: type the path of a file of manifests")
        templates = read_manifests(path, io.StringIO(), Random(self._seed))
        return plan_objects(
            templates,
            path,
            cockpit.default_namespace,
            store=cockpit.cluster.store,
            lookup=cockpit.cluster.lookup,
            context=cockpit.context,
            shell=submit_file_line(path, cockpit.context, cockpit.default_namespace),
        )

    def carry(self) -> None:
        act_on_plan(self.app, self.plan(), say=self.say_problem, then=self._done)
