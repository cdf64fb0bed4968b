"""An alert that fires in Alertmanager: what a rule says, no finding of ours."""

from typing import Final

import msgspec

from cockpit.model.record import Labels

OWN_ALERT: Final = "GpuCockpitFinding"
"""The name of alerts that `cockpit triage --watch` posts: they never come back as alerts."""


class Alert(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One alert. `uid` is its fingerprint, `severity` in lower case, "" without one; `since_seconds` epoch
    seconds, never in the future, None unknown. `cluster` is the label of that name.

    `about` are the objects that its labels may name, the most trusted first: (kind, name) where kind is job
    (`namespace/name`), pod (`namespace/name`) or host (name or address of a node). They are of this cluster
    only where the store knows them.
    """

    uid: str
    name: str
    severity: str = ""
    since_seconds: float | None = None
    summary: str = ""
    runbook: str = ""
    cluster: str = ""
    labels: Labels = ()
    about: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> str:
        """Unique among alerts."""
        return self.uid
