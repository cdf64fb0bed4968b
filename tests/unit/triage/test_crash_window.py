"""A job that is killed again and again, looked at every second: one row, one beginning, a growing count."""

import re
from collections.abc import Iterator

import msgspec
import pytest

from cockpit.model.finding import Finding, Subject
from cockpit.model.pod import Pod
from cockpit.triage.attention import needs_human
from cockpit.triage.engine import explain
from cockpit.triage.now_findings import BLOCKED_SECONDS
from cockpit.triage.recurrence import WINDOW_SECONDS
from cockpit.triage.verdicts import Verdicts
from tests.unit.jobs.builders import Cluster, batch_job, up

START = 10_000.0


def _kills(run_seconds: int, until: int) -> list[tuple[int, int]]:
    """(killed at, starts again at) by a kubelet's back-off, doubled up to five minutes."""
    found, at, back_off = [], run_seconds, 10
    while at < until:
        found.append((at, at + back_off))
        at += back_off + run_seconds
        back_off = min(300, 2 * back_off)
    return found


def _states(pod: Pod, run_seconds: int, until: int, reason: str) -> Iterator[tuple[int, Pod]]:
    kills = _kills(run_seconds, until)
    for second in range(until + int(WINDOW_SECONDS) + 400):
        past = [pair for pair in kills if pair[0] <= second]
        if not past:
            yield second, pod
            continue
        at, again = past[-1]
        restarts = len(past) if second >= again else len(past) - 1
        told = {
            "restarts": restarts,
            "exit_code": 137,
            "terminated_reason": reason,
            "crashed_seconds": START + at,
        }
        waits = {} if second >= again else {"waiting_reason": "CrashLoopBackOff", "is_ready": False}
        yield second, msgspec.structs.replace(pod, **told, **waits)


@pytest.mark.parametrize("reason", ["OOMKilled", "Error"])
@pytest.mark.parametrize("run_seconds", [5, 60, 200])
def test_a_job_between_two_kills_stays_one_row_and_a_healed_one_goes(run_seconds: int, reason: str) -> None:
    cluster, job = Cluster(), batch_job("llm", created_seconds=START - 86_400.0)
    first = Pod(
        uid="p", name="llm-0", namespace="team-a", owner_uid=job.uid, owner_kind="Job", owner_name="llm",
        owner_api_version="batch/v1", gpus=1, gpu_resource="nvidia.com/gpu", created_seconds=START,
        started_seconds=START, **up(),
    )  # fmt: skip
    verdicts = Verdicts(cluster.store, cluster.index)
    rows: dict[int, tuple[Finding, ...]] = {}
    until, at = 1_200, 0
    for second, pod in _states(first, run_seconds, until, reason):
        cluster.put(job, pod)
        now_seconds = START + second
        rows[second] = needs_human(cluster.store, cluster.index, now_seconds, verdicts=verdicts)
        at = at or (second if pod.restarts > 1 and second > BLOCKED_SECONDS else 0)
        for row in rows[second]:
            page = explain(Subject("job", "team-a", "llm"), verdicts.view(now_seconds))
            assert (row.sentence, row.since_seconds) == (page.sentence, page.since_seconds)
    last = _kills(run_seconds, until)[-1]
    known = [rows[second] for second in range(at, last[0])]
    assert all(len(some) == 1 for some in known)
    assert {some[0].key for some in known} == {"job-degraded:job.batch/team-a/llm"}
    assert len({some[0].since_seconds for some in known}) == 1
    counts = [
        int(re.findall(r"crashed (\d+) times in \d+ (?:s|min)\b", some[0].sentence)[0]) for some in known
    ]
    assert counts == sorted(counts) and counts[-1] > counts[0]
    healed = max(last[0] + int(WINDOW_SECONDS), last[1])
    assert rows[healed - 1] and not any(rows[second] for second in range(healed + 1, max(rows)))


def test_one_restart_that_was_got_over_is_no_trouble() -> None:
    cluster, job = Cluster(), batch_job("llm", created_seconds=START)
    pod = Pod(
        uid="p", name="llm-0", namespace="team-a", owner_uid=job.uid, owner_kind="Job", owner_name="llm",
        owner_api_version="batch/v1", gpus=1, gpu_resource="nvidia.com/gpu", created_seconds=START,
        started_seconds=START, restarts=1, exit_code=137, crashed_seconds=START + 50.0, **up(),
    )  # fmt: skip
    cluster.put(job, pod)
    assert needs_human(cluster.store, cluster.index, START + 100.0) == ()
