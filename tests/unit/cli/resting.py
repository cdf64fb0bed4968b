"""A pool with a job of each sort whose cards do nothing, one that works and one that nobody measures; and who
remembers what their pods did. All times are before `now`, the clock's own."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from cockpit.model.gpu import Gpu, Mark
from cockpit.model.job import RECLAIM_AT, RECLAIM_BY, RECLAIM_DUE, ReclaimMark
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.trace import CardTrace, PodLines, PodTrace
from cockpit.telemetry.pod_lines import POINTS
from tests.unit.cli.builders import Cluster
from tests.unit.jobs.builders import gang, mpijob, up
from tests.unit.pools.builders import deployment, node

IDLE, LOADS, WARMS, DARK, WORKS, UNSEEN = "idle", "loads", "warms", "dark", "works", "unseen"
JOBS: Final = (IDLE, LOADS, WARMS, DARK, WORKS, UNSEEN)
"""`dark` is one of which nobody collects the disk, `unseen` one whose cards nobody measures."""
IDLE_MINUTES: Final = 60
GPUS: Final = 2
_CALM: Final = (0.0,) * POINTS
_BUSY: Final = (0.9,) * POINTS
_ENDED: Final = (0.9,) * (POINTS - IDLE_MINUTES) + (0.0,) * IDLE_MINUTES


def rest(cluster: Cluster, now: float) -> None:
    """Put them there: all have run for five hours but the one that warms up, which began 70 minutes ago."""
    cluster.add(Kind.POOL, deployment("h100", replicas=2))
    for at, name in enumerate(JOBS):
        started = now - (4_200 if name == WARMS else 18_000)
        place = f"n{at // 4 + 1}"
        made = mpijob(name, workers=1, gpus=GPUS, created_seconds=started)
        cluster.add(Kind.MPIJOB, made)
        launcher, pods = gang(made, **up(node=place))
        cluster.add(Kind.JOB, launcher)
        cluster.add(Kind.POD, *(msgspec.structs.replace(one, started_seconds=started) for one in pods))
        tree = {"name": name, "namespace": "team-a", "uid": made.uid, "resourceVersion": "41"}
        path = f"/apis/kubeflow.org/v2beta1/namespaces/team-a/mpijobs/{name}"
        cluster.reads[path] = [
            {"apiVersion": made.api_version, "kind": "MPIJob", "metadata": tree, "spec": {"runPolicy": {}}}
        ]
        for seconds in (now - 2_300, now - 1):
            cluster.add(Kind.GPU, *_cards(name, place, at, seconds))
    cluster.add(Kind.NODE, *(node(name, pool="h100") for name in ("n1", "n2")))


def mark(cluster: Cluster, now: float) -> None:
    """The idle job was marked half an hour ago and is due."""
    at, due = (
        datetime.fromtimestamp(one, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") for one in (now - 1_800, now - 900)
    )
    (tree,) = cluster.reads[f"/apis/kubeflow.org/v2beta1/namespaces/team-a/mpijobs/{IDLE}"]
    tree["metadata"]["annotations"] = {RECLAIM_AT: at, RECLAIM_DUE: due, RECLAIM_BY: "bob@bastion"}
    jobs = cluster.records[Kind.MPIJOB]
    noted = ReclaimMark(now - 900, "bob@bastion")
    jobs[:] = [msgspec.structs.replace(one, reclaim=noted) if one.name == IDLE else one for one in jobs]


def _cards(name: str, place: str, at: int, seconds: float) -> tuple[Gpu, ...]:
    if name == UNSEEN:
        return ()
    return tuple(
        Gpu(
            uuid=f"g{at}-{index}",
            node=place,
            index=at % 4 * GPUS + index,
            duty_ratio=0.9 if name == WORKS else 0.0,
            memory_used_bytes=2e10,
            pod_namespace="team-a",
            pod_name=f"{name}-worker-0",
            mark=Mark.SURE,
            sampled_seconds=seconds,
        )
        for index in range(GPUS)
    )


async def lines(pods: Sequence[Pod], now: float) -> PodLines:
    """What a Prometheus remembers of these pods."""
    name_of = {one.uid: one.name.partition("-")[0] for one in pods}
    holds = {one.uid for one in pods if one.gpus}
    return PodLines(
        end_seconds=now,
        step_seconds=60.0,
        cards={uid: _card_traces(name) for uid, name in name_of.items() if uid in holds},
        pods={uid: _pod_trace(uid, name) for uid, name in name_of.items()},
    )


def _card_traces(name: str) -> tuple[CardTrace, ...]:
    if name == UNSEEN:
        return ()
    duty = {WORKS: _BUSY, WARMS: _CALM}.get(name, _ENDED)
    return tuple(
        CardTrace(uuid=f"{name}-{index}", duty=duty, memory_bytes=(2e10,) * POINTS) for index in range(GPUS)
    )


def _pod_trace(uid: str, name: str) -> PodTrace:
    return PodTrace(
        uid=uid,
        cpu_cores=_CALM if name == WARMS else tuple(2.0 * one for one in _ENDED),
        receive=(9e6,) * POINTS if name == LOADS else _CALM,
        transmit=_CALM,
        disk_read=() if name == DARK else _CALM,
        disk_write=() if name == DARK else _CALM,
    )
