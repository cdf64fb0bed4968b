"""A manifest as a file while a person edits it. It stays wherever what was written into it is not done."""

import os
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from cockpit.actions.edit import OpenedManifest, editable
from cockpit.actions.planning import FreshPlanning
from cockpit.errors import BadInput, Refused
from cockpit.jobs.manifest_file import manifest_text
from cockpit.model.job import Job

Edit = Callable[[Path], Awaitable[None]]
"""Has a person edit the file (`cockpit.terminal.edit`). Raises BadInput."""


@dataclass(frozen=True, slots=True)
class EditedManifest:
    """`patch`: what was changed, as `EditOptions` takes it; "" where nothing was, and the file is gone."""

    path: Path
    patch: str

    @property
    def kept(self) -> str:
        """What is told where the change is not done."""
        return f"what you wrote is in {self.path}"

    def done(self) -> None:
        """Remove the file: what it says is done."""
        self.path.unlink(missing_ok=True)


async def edited_manifest(fresh: FreshPlanning, job: Job, edit: Edit) -> EditedManifest:
    """The job's manifest after a person edited it, in a file that only this user reads.

    Raises BadInput for what is no manifest of this job, Refused where the job changed or went meanwhile: the
    sentence names the file, which stays.
    """
    opened = OpenedManifest(job, await editable(fresh(), job))
    descriptor, name = tempfile.mkstemp(prefix=f"{job.name}-", suffix=".yaml")
    path = Path(name)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(opened.text)
    try:
        await edit(path)
    except BadInput as error:
        unchanged = EditedManifest(path, "")
        if manifest_text(path) != opened.text:
            raise BadInput(f"{error.sentence}; {unchanged.kept}") from None
        unchanged.done()
        raise
    edited = EditedManifest(path, opened.patch(manifest_text(path), name))
    if not edited.patch:
        edited.done()
        return edited
    try:
        opened.refuse_moved(await editable(fresh(), job))
    except Refused as error:
        raise Refused(f"{error.sentence}; {edited.kept}", error.said) from None
    return edited
