"""What `cockpit job submit --dry-run` says of the fit, from the attachment over which it plans."""

from collections.abc import Mapping
from typing import Any

from cockpit.actions.surroundings import ask_surroundings, needs_of
from cockpit.attach import Attachment
from cockpit.commands.attached import CLAIM_KINDS
from cockpit.errors import CockpitError
from cockpit.fit.claims import claim_conflicts
from cockpit.fit.scheduling_context import UNKNOWN
from cockpit.jobs.planned import planned_gang
from cockpit.model.record import Kind
from cockpit.views.fit import fit_report

FIT_KINDS = (
    Kind.NODE,
    Kind.POD,
    Kind.LOCAL_QUEUE,
    Kind.CLUSTER_QUEUE,
    Kind.WORKLOAD,
    Kind.POD_GROUP,
    *CLAIM_KINDS,
)
"""What has to be listed for a fit and for which engines are at work."""


async def fit_told(
    manifest: Mapping[str, Any], attachment: Attachment, namespace: str, trouble: str = ""
) -> list[str]:
    """Lines of the fit; one that says why it is not known. `trouble` is why the nodes could not be read."""
    parts = planned_gang(manifest, namespace)
    if trouble and parts:
        return [f"cannot tell whether it fits now: {trouble}"]
    around = UNKNOWN
    try:
        if attachment.session is not None:
            around = await ask_surroundings(attachment.session, needs_of(parts))
    except CockpitError as error:
        return [f"cannot tell whether it fits now: {error.sentence}"]
    told = fit_report(manifest, attachment.store, around, namespace)
    return [*told, *(f"! {line}" for line in claim_conflicts(attachment.store, parts, around))]
