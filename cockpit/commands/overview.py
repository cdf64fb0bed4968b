"""`cockpit get overview`: the fleet, pools and queues in numbers, and what needs a human."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from cockpit.attach import Attachment
from cockpit.commands.output import grid
from cockpit.gangs.sentence import counted
from cockpit.model.batch import Phase
from cockpit.model.listing import listing
from cockpit.model.pool import Pool
from cockpit.model.quantity import Absent
from cockpit.model.record import Kind
from cockpit.model.right import cannot
from cockpit.pools.index import pools_of
from cockpit.triage.attention import needs_human
from cockpit.triage.idle_jobs import gpu_gap
from cockpit.triage.remedies import remedy_text
from cockpit.views import format as fmt
from cockpit.views.fleet import Fleet, fleet
from cockpit.views.pools import size_text
from cockpit.views.queues import rows as queue_rows


def tree(attachment: Attachment, now_seconds: float) -> dict[str, Any]:
    """Everything as numbers and words; unknown is null or the reason why."""
    store = attachment.store
    namespaces = attachment.namespaces
    jobs = [job for job in attachment.jobs.jobs.values() if job.namespace in namespaces]
    session = attachment.session
    are_nodes_known = listing(store, Kind.NODE).has_all
    knows_pods = all(listing(store, Kind.POD, name).has_all for name in namespaces.names or ("",))
    return {
        "kind": "overview",
        "context": session.context if session else "",
        "at_seconds": now_seconds,
        "fleet": fleet(store) if are_nodes_known else None,
        "jobs": dict(sorted(Counter(job.state for job in jobs).items())) if jobs or knows_pods else None,
        "needs_a_human": needs_human(
            store, attachment.jobs, now_seconds, namespaces, verdicts=attachment.verdicts
        ),
        "idle_not_known": gpu_gap(store) if fleet(store).gpus else None,
        "pools": pools_of(store) if are_nodes_known else None,
        "queues": [
            {
                "name": row.name,
                "engine": row.engine.name,
                "cluster_queue": row.cluster_name,
                "pending": row.pending,
                "admitted": row.admitted,
            }
            for row in queue_rows(store)
            if row.local is None or row.local.namespace in namespaces
        ],
        "streams": {
            name: status.phase.value
            for name, status in sorted(store.statuses().items())
            if _is_odd(status.phase)
        },
    }


def _is_odd(phase: Phase) -> bool:
    return phase not in (Phase.LIVE, Phase.ABSENT)


def _allocated(pool: Pool) -> str:
    return f"{pool.gpus_allocated if pool.is_use_known else '?'}/{pool.gpus_total}"


def _free(it: Fleet) -> str:
    if it.unseen:
        return f"{it.unseen} allocated or free: pods of other namespaces are not visible"
    return f"{it.free} free"


def _fleet_lines(it: Fleet | None, name: str) -> list[str]:
    if it is None:
        return [f"{name}: nodes, GPUs and pools are not known: {cannot('list nodes')}"]
    duty = it.duty.value if isinstance(it.duty, Absent) else fmt.percent(it.duty)
    allocated = f"{it.busy} busy, {it.idle_allocated} at low duty" + (
        f", {it.allocated_unknown} allocated (duty unknown)" if it.allocated_unknown else ""
    )
    text = [
        f"{name}: {counted(it.nodes, 'node')}, {it.gpu_nodes} with GPUs",
        f"{counted(it.gpus, 'GPU')}: {allocated}, {_free(it)}, {it.lost} lost; duty {duty}",
    ]
    if it.implausible or it.contradicted:
        text.append(
            f"{counted(it.implausible, 'GPU')} with implausible numbers,"
            f" {it.contradicted} with contradictory ones: "
            "see `cockpit get gpus --sort doubts --descending`"
        )
    if it.joining:
        text.append(f"{counted(it.joining, 'GPU')} expected on joining nodes, not advertised yet")
    return text


def _states(jobs: dict[str, int]) -> str:
    return ", ".join(f"{count} {state or 'unknown'}" for state, count in jobs.items()) or "none"


def lines(found: dict[str, Any]) -> list[str]:
    """The same for a person."""
    return lines_of((found,))


def lines_of(found: Sequence[dict[str, Any]]) -> list[str]:
    """The overviews of several clusters: each in its own lines, what needs a human, pools and queues in one
    table each, with the cluster of each row where there are several."""
    text = [line for at, tree in enumerate(found) for line in ([""] if at else []) + _head(tree)]
    for titles, rows_of in (
        (("needs a human", "what", "why", "remedy"), _needs),
        (("pool", "nodes", "GPUs allocated", "why it cannot be resized here"), _pools),
        (("queue", "cluster queue", "pending", "admitted"), _queues),
    ):
        several = len(found) > 1
        rows = [[*([tree["context"]] if several else []), *row] for tree in found for row in rows_of(tree)]
        if rows:
            text += ["", *grid([*(["cluster"] if several else []), *titles], rows)]
    if streams := [line for tree in found for line in _streams(tree, is_named=len(found) > 1)]:
        text += ["", *streams]
    return text


def _head(found: dict[str, Any]) -> list[str]:
    jobs = found["jobs"]
    text = [
        *_fleet_lines(found["fleet"], found["context"] or "cluster"),
        f"jobs: {'not known' if jobs is None else _states(jobs)}",
    ]
    if (gap := found["idle_not_known"]) is not None:
        text.append(f"idle jobs are not known: GPU telemetry is {gap}")
    return text


def _needs(found: dict[str, Any]) -> list[list[str]]:
    return [
        [
            fmt.since(item.since_seconds, found["at_seconds"]),
            item.title,
            item.sentence,
            remedy_text(item.remedies),
        ]
        for item in found["needs_a_human"]
    ]


def _pools(found: dict[str, Any]) -> list[list[str]]:
    return [[item.name, size_text(item), _allocated(item), item.why_not] for item in found["pools"] or ()]


def _queues(found: dict[str, Any]) -> list[list[str]]:
    return [
        [item["name"], item["cluster_queue"], fmt.count(item["pending"]), fmt.count(item["admitted"])]
        for item in found["queues"]
    ]


def _streams(found: dict[str, Any], *, is_named: bool) -> list[str]:
    before = f"{found['context']}: " if is_named else ""
    return [f"{before}{name}: {phase}" for name, phase in found["streams"].items()]
