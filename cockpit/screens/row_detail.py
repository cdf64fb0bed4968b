"""Details of what stands on several lists, with what the app knows of each."""

from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.screens.app_protocol import Cockpit
from cockpit.views.detail import Detail
from cockpit.views.row_details import job_detail, node_detail, pod_detail
from cockpit.views.run_now import run_now
from cockpit.views.timeline import Run


def detail_of_job(cockpit: Cockpit, key: str) -> Detail | None:
    """The job of that key, with what an earlier look at its log has left."""
    cluster, now_seconds = cockpit.cluster, cockpit.clock.cluster_now()
    job = cluster.jobs.job(key)
    if job is None:
        return None
    members = cluster.jobs.members(key)
    run = run_now(Run(), cluster.runs.of(key), job, members, store=cluster.store, now_seconds=now_seconds)
    past, why = cluster.trends.job(key), cluster.verdicts.of(job, now_seconds).sentence
    return job_detail(job, members, cluster.store, run, now_seconds, past=past, why=why)


def detail_of_node(cockpit: Cockpit, name: str) -> Detail | None:
    """The node of that name."""
    cluster, drained = cockpit.cluster, cockpit.drains.status(name)
    node = cluster.store.by_key(Kind.NODE, name)
    if not isinstance(node, Node):
        return None
    here, budgets = None if drained is None else drained.sentence, cluster.verdicts.on_demand.budgets
    return node_detail(node, cluster.store, cockpit.clock.cluster_now(), here, budgets)


def detail_of_pod(cockpit: Cockpit, pod: Pod) -> Detail:
    """The pod, and why its job waits."""
    cluster, now_seconds = cockpit.cluster, cockpit.clock.cluster_now()
    job = cluster.jobs.job_of_pod(pod)
    why = "" if job is None else cluster.verdicts.of(job, now_seconds).sentence
    return pod_detail(pod, cluster.store, now_seconds, why)
