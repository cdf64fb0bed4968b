"""Jobs that no engine queues: the scheduler takes their pods one by one."""

from collections.abc import Mapping
from typing import Any

from cockpit.gangs.engine import Engine
from cockpit.gangs.manifests import Attached


class NoEngine(Engine):
    """Nothing holds a job before the scheduler."""

    name = "none"
    meaning = "Each pod starts when it fits; what started waits for the rest."

    def attach(self, manifest: Mapping[str, Any], *, queue: str = "", scheduler: str = "") -> Attached:
        """The manifest as it is."""
        return Attached(dict(manifest))
