"""What simulated training prints: members of a job go through the same epochs, each at its own pace."""

import re

from hypothesis import given
from hypothesis import strategies as st

from cockpit.sim.actors.kubelet.runtime import Exit
from cockpit.sim.actors.kubelet.simulated import _job_of
from cockpit.sim.actors.kubelet.training import SimulatedLog

_LINE = re.compile(r"epoch (\d+) step (\d+)/(\d+) loss (\S+) images/sec (\S+)")


async def _never(at: float) -> float:
    return at


def told(job: str, seed: str, seconds: float = 600.0) -> tuple[tuple[str, str, str], float, float]:
    """Epoch, step and steps of the last line, its loss and its rate."""
    log = SimulatedLog("training", seed, job=job, gpus=8, started_at=0.0, step_seconds=2.0, alarm=_never)
    found = _LINE.fullmatch(log.lines(since=0.0, tail=1, now=seconds)[-1].text.decode())
    assert found is not None
    epoch, step, steps, loss, rate = found.groups()
    return (epoch, step, steps), float(loss), float(rate)


def test_members_of_a_job_stand_at_the_same_step_with_like_losses_and_rates_of_their_own() -> None:
    members = [told("job-uid", f"container-{rank}") for rank in range(6)]
    assert len({where for where, _, _ in members}) == 1
    losses = [loss for _, loss, _ in members]
    assert max(losses) < 1.04 * min(losses)
    assert len({rate for _, _, rate in members}) == 6


def test_other_jobs_have_other_epochs_or_losses() -> None:
    assert len({told(f"job-{number}", "container")[:2] for number in range(6)}) == 6


def test_a_launcher_goes_with_its_workers_and_a_bare_pod_with_nobody() -> None:
    label = {"training.kubeflow.org/job-name": "llm"}

    def pod(owner: str, labels: dict[str, str]) -> dict[str, object]:
        owners = [{"uid": owner}] if owner else []
        return {"metadata": {"namespace": "team-a", "labels": labels, "ownerReferences": owners}}

    assert _job_of(pod("job-uid", label)) == _job_of(pod("mpijob-uid", label)) == "team-a/llm"
    assert _job_of(pod("job-uid", {})) == "job-uid"
    assert _job_of(pod("", {})) == _job_of({"metadata": {}}) == ""


@given(st.integers(0, 400).map(lambda tenths: tenths / 10), st.sampled_from((0, 1, 143)))
async def test_what_is_there_and_what_follows_are_the_log_once(after: float, code: int) -> None:
    """Also once the container has ended: a follower who comes then gets no line a second time."""
    log = SimulatedLog("training", "seed", job="job", gpus=1, started_at=0.0, step_seconds=2.0, alarm=_never)
    log.ends(Exit(code, 25.0))
    followed = [line async for line in log.follow(after)]
    whole = log.lines(since=0.0, tail=None, now=100.0)
    assert [*log.lines(since=0.0, tail=None, now=after), *followed] == list(whole)
