"""A file of manifests, submitted as it is: its path, and what would be created."""

import io
from collections.abc import Sequence
from functools import cached_property, partial
from random import Random

from cockpit_widgets.types import FieldSpec

from cockpit.actions.submit import Findings, plan_objects
from cockpit.errors import BadInput, CockpitError
from cockpit.gangs.engine import InstalledEngine
from cockpit.jobs.manifest_file import path_of, read_manifests
from cockpit.jobs.template import Template
from cockpit.model.plan import Plan
from cockpit.screens.one_number import OneNumberScreen
from cockpit.screens.verb_keys import act_on_plan


class SubmitFileScreen(OneNumberScreen):
    """The path of a file; names that it leaves open are chosen once, so that what was shown is created."""

    heading = "submit a file"

    def __init__(self) -> None:
        super().__init__()
        self._seed = Random().getrandbits(64)
        self._read: tuple[tuple[str, int, int], tuple[Template, ...]] | None = None

    def field(self) -> FieldSpec:
        help_ = "path of manifests in YAML or JSON: one or many objects, of any kind"
        return FieldSpec("to", "File", "text", self._text, help_)

    def plan(self) -> Plan:
        path, cockpit = self._text.strip(), self.cockpit
        if not path:
            raise BadInput("File: type the path of a file of manifests")
        return plan_objects(
            self._templates(path),
            path,
            cockpit.default_namespace,
            store=cockpit.cluster.store,
            lookup=cockpit.cluster.lookup,
            context=cockpit.context,
            findings=Findings(self._engines),
        )

    @cached_property
    def _engines(self) -> Sequence[InstalledEngine]:
        """Which are there: it reads every pod, so it is asked once a form."""
        return self.cockpit.cluster.engines() or ()

    def _templates(self, path: str) -> tuple[Template, ...]:
        """What the file holds, read again only where it changed: the preview is drawn with every change of
        the cluster. A path that is being typed may be that of a terminal or a pipe, which would not end."""
        file = path_of(path)
        try:
            found = file.stat()
        except OSError:
            return read_manifests(path, io.StringIO(), Random(self._seed))  # which says why
        if not file.is_file():
            raise BadInput(f"File: {path} is no regular file")
        version = (path, found.st_mtime_ns, found.st_size)
        if self._read is None or self._read[0] != version:
            self._read = version, read_manifests(path, io.StringIO(), Random(self._seed))
        return self._read[1]

    def carry(self) -> None:
        self.cockpit.spawn_foreground(partial(self._ask, self.plan()), "submit a file")

    async def _ask(self, plan: Plan) -> None:
        """As the command: a queue or priority class that is absent is refused before the question."""
        try:
            absent = await self.cockpit.api.absent_names(plan, self.cockpit.default_namespace)
        except CockpitError as error:
            absent = {"": error.sentence}
        if absent:
            self.say_problem("; ".join(absent.values()))
            return
        act_on_plan(self.app, plan, say=self.say_problem, then=self._done)
