"""What `cockpit job submit --dry-run` says of the fit: the cluster is read once for it."""

from collections.abc import Mapping
from typing import Any

from cockpit.actions.surroundings import ask_surroundings, needs_of
from cockpit.attach import AttachOptions
from cockpit.clock import Clock
from cockpit.commands.live import attached
from cockpit.errors import CockpitError
from cockpit.fit.surroundings import UNKNOWN
from cockpit.jobs.planned import planned_gang
from cockpit.model.record import Kind
from cockpit.views.fit import fit_report

KINDS = (Kind.NODE, Kind.POD, Kind.LOCAL_QUEUE, Kind.CLUSTER_QUEUE)


async def fit_of(
    manifest: Mapping[str, Any], chosen: AttachOptions, namespace: str, clock: Clock, timeout_seconds: float
) -> list[str]:
    """Lines of the fit; one that says why it is not known where the cluster cannot be read."""
    parts = planned_gang(manifest, namespace)
    if not parts:
        return []
    try:
        async with attached(chosen, clock) as live:
            notes = await live.settle(KINDS, timeout_seconds)
            attachment = live.attachment
            around = UNKNOWN
            if attachment.session is not None:
                around = await ask_surroundings(attachment.session, needs_of(parts))
            return [*fit_report(manifest, attachment.store, around, namespace), *notes]
    except CockpitError as error:
        return [f"whether it fits now is not known: {error.sentence}"]
