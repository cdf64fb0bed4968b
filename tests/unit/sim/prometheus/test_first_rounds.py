"""A cockpit that opens on the default demo: what its first round and one look at the past tell."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from cockpit.actions.idle_reads import IdleReads, read_idle_once
from cockpit.jobs.index import JobIndex
from cockpit.kube.decode.decoders import JOB, NODE, POD
from cockpit.kube.resource import JOBS, NODES, PODS
from cockpit.model.batch import Batch, ListMark, Phase, StreamStatus
from cockpit.model.pod import Pod
from cockpit.model.trace import PodLines
from cockpit.sim.cluster import EmbeddedCluster
from cockpit.sim.server.local_port import LocalPort
from cockpit.store.store import Store
from cockpit.telemetry import lately
from cockpit.telemetry.http_client import DirectAnswer
from cockpit.telemetry.http_protocol import Query
from cockpit.telemetry.poller import Poller
from cockpit.telemetry.prometheus import Prometheus
from cockpit.telemetry.source import PrometheusSource
from cockpit.triage.attention import needs_human
from cockpit.triage.verdicts import Verdicts
from tests.unit.sim.prometheus.remembering import begun

PATIENCE_SECONDS = 600.0
KINDS = ("job-idle", "job-starved")


class InProcess:
    """Asks the embedded Prometheus without a network."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self._api = cluster.prometheus

    async def get(self, path: str, query: Query, limit_bytes: int) -> DirectAnswer:
        answer = self._api.query_range if path.endswith("range") else self._api.query
        tree = {"status": "success", "data": await answer(dict(query))}
        return DirectAnswer(200, "application/json", msgspec.json.encode(tree), None)

    async def close(self) -> None:
        """Holds nothing."""


async def listed(cluster: EmbeddedCluster, store: Store) -> None:
    for resource, decoder in ((NODES, NODE), (PODS, POD), (JOBS, JOB)):
        trees = await LocalPort(cluster.operations).list(resource)
        made = [decoder.from_json(msgspec.json.encode(tree)) for tree in trees]
        status = StreamStatus(kind=decoder.kind, phase=Phase.LIVE, objects=len(made))
        store.apply(Batch(kind=decoder.kind, mark=ListMark.BEGIN))
        records = tuple(one for one in made if one is not None)
        store.apply(Batch(kind=decoder.kind, mark=ListMark.END, changed=records, status=status))


async def test_an_idle_and_a_starved_job_are_seen_with_the_first_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lately, "PATIENCE_SECONDS", PATIENCE_SECONDS)  # whatever else this machine does
    monkeypatch.setattr("cockpit.actions.idle_reads.ONCE_SECONDS", PATIENCE_SECONDS)
    cluster, store = await begun(), Store()
    await listed(cluster, store)
    jobs = JobIndex(store, store.take_delta)
    verdicts = Verdicts(store, jobs)
    prometheus = Prometheus(InProcess(cluster), timeout_seconds=PATIENCE_SECONDS)
    source = PrometheusSource(prometheus)
    await Poller(source, store.apply, cluster.clock, store).poll()
    jobs.catch_up()
    now = cluster.clock.cluster_now()

    async def lines(pods: Sequence[Pod]) -> PodLines | None:
        return await source.lines(pods, now)

    nobody: Any = None  # no container restarted: the API server is not asked
    await read_idle_once(verdicts.on_demand.idle, jobs.jobs, IdleReads(store, nobody, lines), now)
    rows = needs_human(store, jobs, now, verdicts=verdicts)
    said = {row.title.rpartition("/")[2]: row.sentence for row in rows if row.finding in KINDS}
    assert set(said) == {"folding-0", "captions-0"}, "and nothing else of the kind"
    assert said["folding-0"].startswith("4 GPUs at 0% duty, no CPU, network or disk for at least 3 h")
    assert said["captions-0"].startswith("4 GPUs underutilised: duty 2")
