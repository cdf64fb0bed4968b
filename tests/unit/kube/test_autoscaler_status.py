"""The status of the cluster autoscaler in both formats, and the object that is read by its name."""
# ruff: noqa: E501 - texts as they are written

import asyncio
from typing import Any

import pytest

from cockpit.clock import ManualClock
from cockpit.kube.decode.autoscaler import go_seconds
from cockpit.kube.decode.decoders import AUTOSCALER
from cockpit.kube.session import ApiSession
from cockpit.kube.single_object import AWAY_SECONDS, FAILED_SECONDS, GONE_SECONDS, READ_SECONDS, SingleObject
from cockpit.model.autoscaler import AutoscalerStatus
from cockpit.model.batch import Batch, Phase
from cockpit.model.right import Right
from tests.unit.kube.builders import FakeServer, meta, refuse, reply
from tests.unit.kube.test_kueue_and_pools import made

PATH = "/api/v1/namespaces/kube-system/configmaps/cluster-autoscaler-status"
UPDATED = "2026-11-23 10:00:05.25 +0000 UTC"
AT = 1_795_428_005.25

YAML = """\
time: 2026-11-23 10:00:05.25 +0000 UTC
autoscalerStatus: Running
clusterWide:
  health:
    status: Healthy
    nodeCounts: {registered: {total: 5, ready: 4, notStarted: 1}}
    lastProbeTime: "2026-11-23T10:00:05Z"
    lastTransitionTime: "2026-11-23T08:00:00Z"
nodeGroups:
- name: MachineDeployment/capi/h100
  health:
    status: Healthy
    nodeCounts:
      registered: {total: 3, ready: 2, unready: {total: 1, resourceUnready: 1}}
      longUnregistered: 0
      unregistered: 1
    cloudProviderTarget: 4
    minSize: 1
    maxSize: 8
    lastTransitionTime: "2026-11-23T08:00:00Z"
  scaleUp:
    status: Backoff
    backoffInfo:
      errorCode: QUOTA_EXCEEDED
      errorMessage: 'Instance ''x'' creation failed: Quota ''CPUS'' exceeded. Limit: 57.0 in region us-central1.'
    lastTransitionTime: "2026-11-23T09:58:00Z"
  scaleDown: {status: CandidatesPresent, candidates: 2}
"""

TEXT = """\
Cluster-autoscaler status at 2026-11-23 10:00:05.25 +0000 UTC:
Cluster-wide:
  Health:      Healthy (ready=4 unready=0 (resourceUnready=0) notStarted=1 longNotStarted=0 registered=5 longUnregistered=0)
               LastProbeTime:      2026-11-23 10:00:05.1 +0000 UTC m=+7.1
               LastTransitionTime: 2026-11-23 08:00:00 +0000 UTC m=+1.5
  ScaleUp:     InProgress (ready=4 registered=5)
               LastTransitionTime: 2026-11-23 09:58:00 +0000 UTC m=+9.5
  ScaleDown:   NoCandidates (candidates=0)

NodeGroups:
  Name:        MachineDeployment/capi/h100
  Health:      Healthy (ready=2 unready=1 (resourceUnready=1) notStarted=0 registered=3 longUnregistered=0 cloudProviderTarget=4 (minSize=1, maxSize=8))
               LastTransitionTime: 2026-11-23 08:00:00 +0000 UTC m=+1.5
  ScaleUp:     Backoff (ready=2 cloudProviderTarget=4)
               LastTransitionTime: 2026-11-23 09:58:00 +0000 UTC m=+9.5
  ScaleDown:   CandidatesPresent (candidates=2)
               LastTransitionTime: 2026-11-23 09:00:00 +0000 UTC m=+2.5

  Name:        eks-a100-42
  Health:      Healthy (ready=0 cloudProviderTarget=0 (minSize=0, maxSize=3))
  ScaleUp:     NoActivity (ready=0 cloudProviderTarget=0)
  ScaleDown:   NoCandidates (candidates=0)
"""


def config_map(text: str, updated: str = UPDATED) -> dict[str, Any]:
    """As cluster-autoscaler writes it."""
    notes = {"cluster-autoscaler.kubernetes.io/last-updated": updated}
    metadata = meta("cluster-autoscaler-status", namespace="kube-system") | {"annotations": notes}
    return {"metadata": metadata, "data": {"status": text}}


def status(text: str, updated: str = UPDATED) -> AutoscalerStatus:
    """The record."""
    found: AutoscalerStatus = made(AUTOSCALER, config_map(text, updated))
    return found


@pytest.mark.parametrize("text", [YAML, TEXT])
def test_both_formats_say_the_same(text: str) -> None:
    found = status(text)
    assert (found.written_seconds, found.state, found.health) == (AT, "Running", "Healthy")
    one = found.groups[0]
    assert (one.name, one.health) == ("MachineDeployment/capi/h100", "Healthy")
    assert (one.ready, one.registered, one.without_resources, one.target) == (2, 3, 1, 4)
    assert (one.minimum, one.maximum) == (1, 8)
    assert (one.up, one.up_since_seconds, one.down) == ("Backoff", AT - 125.25, "CandidatesPresent")


def test_only_yaml_tells_why_it_backs_off() -> None:
    one = status(YAML).groups[0]
    assert one.error_code == "QUOTA_EXCEEDED"
    assert one.error_message.endswith("Quota 'CPUS' exceeded. Limit: 57.0 in region us-central1.")
    assert [one.name for one in status(TEXT).groups] == ["MachineDeployment/capi/h100", "eks-a100-42"]
    assert status(TEXT).groups[0].error_code == ""


@pytest.mark.parametrize(
    "text",
    ["", "[]", "a: [", "nodeGroups: 7", "- x", "clusterWide: 3\nnodeGroups: [1, {health: 5}]", "&a [*a]"],
)
def test_a_status_that_is_none_has_no_groups_with_numbers(text: str) -> None:
    found = status(text)
    assert all(one.target is None for one in found.groups)
    assert found.written_seconds == AT


def test_text_of_the_status_is_cleaned() -> None:
    found = status('autoscalerStatus: Running\nmessage: "a\\x1b[31mb"\nnodeGroups: [{name: "x\\u202ey"}]')
    assert "\x1b" not in found.message
    assert "\u202e" not in found.groups[0].name


def test_times_of_go() -> None:
    assert go_seconds("2026-11-23 10:00:05.25 +0000 UTC m=+3.5") == AT
    assert go_seconds("2026-11-23 11:00:05.25 +0100 CET") == AT
    assert go_seconds("2026-13-45 10:00:05 +0000 UTC") is None
    assert go_seconds("never") is None


async def test_it_is_read_by_its_name_and_told_when(
    server: FakeServer, session: ApiSession, clock: ManualClock
) -> None:
    answers = [
        refuse(403, "Forbidden", "no"),
        reply(config_map(YAML)),
        reply(config_map(YAML)),
        refuse(404, "NotFound", "gone"),
        refuse(404, "NotFound", "gone"),
    ]
    server.on(PATH, *answers)
    heard: list[Batch] = []
    pauses: list[float] = []
    done = asyncio.Event()

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        clock.advance(GONE_SECONDS if len(pauses) == 4 else seconds)
        if len(pauses) == len(answers):
            done.set()
            await asyncio.Event().wait()

    right = Right("get", "", "configmaps", namespace="kube-system", name="cluster-autoscaler-status")
    single = SingleObject(session, PATH, right, AUTOSCALER, heard.append, clock, sleep=sleep)
    task = asyncio.create_task(single.run())
    async with asyncio.timeout(10):
        await done.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    phases = [one.status.phase for one in heard if one.status is not None]
    assert list(dict.fromkeys(phases)) == [Phase.DENIED, Phase.LIVE, Phase.ABSENT]
    assert heard[0].status is not None
    assert heard[0].status.message == "you cannot get configmaps in kube-system."
    (absent,) = [one.status for one in heard if one.status is not None and one.status.phase is Phase.ABSENT]
    assert absent.message == "There is no cluster-autoscaler-status in kube-system."
    records = [one for batch in heard for one in batch.changed]
    ages = [one.read_seconds - records[0].read_seconds for one in records]
    assert ages == [0.0, READ_SECONDS, 2 * READ_SECONDS], "while it is away its record grows old"
    assert [uid for batch in heard for uid in batch.removed] == ["uid-cluster-autoscaler-status"]
    assert heard[-1].removed or heard[-2].removed, "and goes once it has been away long"
    assert pauses == [AWAY_SECONDS, READ_SECONDS, READ_SECONDS, READ_SECONDS, AWAY_SECONDS]


async def test_after_a_failure_it_is_read_again_soon_and_once_the_server_returns(
    server: FakeServer, session: ApiSession, clock: ManualClock
) -> None:
    server.on(PATH, refuse(500, "InternalError", "no"), reply(config_map(YAML)))
    heard: list[Batch] = []
    pauses: list[float] = []
    asleep = asyncio.Event()

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        asleep.set()
        await asyncio.Event().wait()

    right = Right("get", "", "configmaps", namespace="kube-system", name="cluster-autoscaler-status")
    single = SingleObject(session, PATH, right, AUTOSCALER, heard.append, clock, sleep=sleep)
    task = asyncio.create_task(single.run())
    async with asyncio.timeout(10):
        await asleep.wait()
        asleep.clear()
        session.pulse.has_returned()
        await asleep.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert pauses == [FAILED_SECONDS, READ_SECONDS]
    assert heard[-1].status is not None and heard[-1].status.phase is Phase.LIVE


async def test_a_refusal_of_what_was_read_is_asked_for_again_soon_and_on_demand(
    server: FakeServer, session: ApiSession, clock: ManualClock
) -> None:
    no = refuse(403, "Forbidden", "no")
    server.on(PATH, reply(config_map(YAML)), no, no, no, no, reply(config_map(YAML)))
    heard: list[Batch] = []
    pauses: list[float] = []
    asleep = asyncio.Event()

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if seconds >= AWAY_SECONDS or len(pauses) > 6:
            asleep.set()
            await asyncio.Event().wait()

    right = Right("get", "", "configmaps", namespace="kube-system", name="cluster-autoscaler-status")
    single = SingleObject(session, PATH, right, AUTOSCALER, heard.append, clock, sleep=sleep)
    task = asyncio.create_task(single.run())
    async with asyncio.timeout(10):
        await asleep.wait()
        asleep.clear()
        session.pulse.ask_again()
        await asleep.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert pauses[:6] == [READ_SECONDS, 1.0, 2.0, 4.0, AWAY_SECONDS, READ_SECONDS]
    phases = [one.status.phase for one in heard if one.status is not None]
    assert list(dict.fromkeys(phases)) == [Phase.LIVE, Phase.STALE, Phase.DENIED]
    assert phases[-1] is Phase.LIVE
