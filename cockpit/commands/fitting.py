"""What `cockpit job submit --dry-run` says of the fit, from the attachment over which it plans."""

from cockpit.actions.others import preempted
from cockpit.actions.planning import Planning
from cockpit.api_server import ApiServer
from cockpit.attach import Attachment
from cockpit.commands.attached import CLAIM_KINDS
from cockpit.errors import CockpitError
from cockpit.fit.claims import claim_conflicts
from cockpit.jobs.planned import planned_gang
from cockpit.model.plan import Plan
from cockpit.model.record import Kind
from cockpit.triage.context import ClusterView
from cockpit.views.planned_start import start_report

FIT_KINDS = (
    Kind.NODE,
    Kind.POD,
    Kind.JOB,
    Kind.MPIJOB,
    Kind.POOL,
    Kind.LOCAL_QUEUE,
    Kind.CLUSTER_QUEUE,
    Kind.WORKLOAD,
    Kind.POD_GROUP,
    *CLAIM_KINDS,
)
"""What has to be listed for what holds a job and what starts it, and for which engines are at work."""


async def fit_told(plan: Plan, attachment: Attachment, planning: Planning, trouble: str = "") -> list[str]:
    """Lines of the fit; one that says why it is not known. `trouble` is why the nodes could not be read."""
    manifest, namespace = plan.calls[0].body, plan.contends[0].namespace
    parts = planned_gang(manifest, namespace)
    if trouble and parts:
        return [f"cannot tell whether it fits now: {trouble}"]
    view = ClusterView(
        store=attachment.store,
        jobs=attachment.jobs,
        now_seconds=attachment.clock.cluster_now(),
        known=planning.pools.known(),
        idle=attachment.verdicts.on_demand.idle,
    )
    try:
        view = await ApiServer(attachment).read_for_planned(manifest, view, namespace)
        found = await preempted(planning, plan.contends)
    except CockpitError as error:
        return [f"cannot tell whether it fits now: {error.sentence}"]
    lines = start_report(manifest, view, namespace, found)
    return [*lines, *(f"! {line}" for line in claim_conflicts(attachment.store, parts, view.around))]
