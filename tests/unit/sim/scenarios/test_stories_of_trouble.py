"""The default mix and the night shift: what goes wrong shows on the cluster, its cause only in the truth."""

from collections.abc import Awaitable, Callable

import msgspec
import pytest

from cockpit.kube.resource import JOBS, MPIJOBS, NODES, PODS, WORKLOADS
from cockpit.sim.port import ChangeType, Tree
from cockpit.sim.resources import DEPLOYMENTS
from cockpit.sim.scenarios.incidents import causes
from cockpit.sim.scenarios.loading import find, load
from cockpit.sim.scenarios.schema import Incidents
from cockpit.telemetry.cards.round import gpus
from cockpit.telemetry.sample import parse_exposition
from tests.unit.sim.scenarios.play import Play, condition, gpus_of, is_true, node_of, phase


def waiting_reason(pod: Tree) -> str:
    """Why the first container of a pod waits."""
    for one in pod["status"].get("containerStatuses") or ():
        return str((one.get("state") or {}).get("waiting", {}).get("reason", ""))
    return ""


def ended_reason(pod: Tree) -> str:
    """Why the first container of a pod ended, now or the last time."""
    for one in pod["status"].get("containerStatuses") or ():
        for state in ("state", "lastState"):
            found = (one.get(state) or {}).get("terminated")
            if found:
                return str(found["reason"])
    return ""


# ---- the default


async def test_the_default_tells_its_story_within_three_minutes() -> None:
    play = await Play.of("default")
    await play.to(180)
    for namespace, prefix in (("research", "bert-large"), ("prod", "ranker-retrain")):
        assert set((await play.phases(namespace, prefix)).values()) == {"Running"}
    waiting = next(
        one for one in await play.list(WORKLOADS) if one["metadata"]["name"].startswith("mpijob-llm-13b")
    )
    said = condition(waiting, "QuotaReserved")
    assert said["status"] == "False"
    assert "insufficient unused quota for nvidia.com/gpu in flavor h100" in said["message"]
    assert waiting_reason(await play.pod_of("students", "finetune")) in ("ErrImagePull", "ImagePullBackOff")
    (grown,) = {one.tree["message"] for one in play.events("TriggeredScaleUp", "diffusion")}
    assert grown == "pod triggered scale-up: [{MachineDeployment/pools/a100 2->4 (max: 6)}]"
    assert set((await play.phases("students", "diffusion")).values()) == {"Running"}
    assert gpus_of(await play.get(NODES, "", "h100-4")) == 7, "one card fell off the bus"
    page = play.cluster.fleet.metrics("h100-1", play.cluster.clock.now())
    cards = gpus(parse_exposition(page, play.cluster.clock.now()))
    temperatures = [float(str(card.temperature_celsius)) for card in cards]
    assert max(temperatures) == temperatures[2] > sorted(temperatures)[-2] + 10
    ended = [one for one in await play.list(JOBS) if is_true(one, "Complete")]
    assert ended, "something has ended by then"


@pytest.mark.parametrize("seed", [1, 2])
async def test_the_default_is_still_lively_after_half_an_hour_and_bounded(seed: int) -> None:
    play = await Play.of("default", seed)
    storage = play.cluster.operations.storage

    def objects(without: str = "events") -> int:
        return sum(len(storage.shelf(one).objects) for one in storage.resources() if one.plural != without)

    await play.to(1200)
    early = objects()
    began, finished, waited = set[str](), set[str](), set[str]()
    for minute in range(20, 60, 10):
        await play.to((minute + 10) * 60)
        lately = [one for one in play.of_kind(PODS) if one.at >= minute * 60]
        came = {one.name for one in lately if phase(one.tree) == "Running"} - began
        over = {one.name for one in lately if phase(one.tree) == "Succeeded"} - finished
        assert len(came) >= 5 and len(over) >= 5, f"dull from minute {minute} on"
        began, finished = began | came, finished | over
        waited |= {
            one.name for one in play.of_kind(WORKLOADS)
            if one.at >= minute * 60 and condition(one.tree, "QuotaReserved").get("reason") == "Pending"
        }  # fmt: skip
    assert waited, "now and then somebody has to wait for quota"
    assert objects() < 1.5 * early, "objects do not pile up"
    assert len(storage.shelf(PODS).objects) < 150
    assert any(one.type is ChangeType.DELETED for one in play.of_kind(JOBS, "sweep"))


# ---- the night shift, each cause

Sign = Callable[[Play, str, str], Awaitable[bool]]
"""Whether what a cause does shows on the object it is about: (play, namespace, name)."""


async def _pods(play: Play, namespace: str, name: str) -> list[Tree]:
    found = await play.list(PODS, namespace)
    return [one for one in found if one["metadata"]["name"].startswith(name)]


def _waits_for(*reasons: str) -> Sign:
    async def sign(play: Play, namespace: str, name: str) -> bool:
        return any(waiting_reason(pod) in reasons for pod in await _pods(play, namespace, name))

    return sign


def _unplaced(text: str) -> Sign:
    async def sign(play: Play, namespace: str, name: str) -> bool:
        pods = await _pods(play, namespace, name)
        return any(text in condition(pod, "PodScheduled").get("message", "") for pod in pods)

    return sign


async def _killed(play: Play, namespace: str, name: str) -> bool:
    return any(ended_reason(pod) == "OOMKilled" for pod in await _pods(play, namespace, name))


async def _looks_like_secret(play: Play, namespace: str, name: str) -> bool:
    (pod,) = await _pods(play, namespace, name)
    said = pod["status"]["containerStatuses"][0]["state"]["waiting"]
    return bool(said == {"reason": "CreateContainerConfigError", "message": 'secret "tracker" not found'})


async def _wrong_queue(play: Play, namespace: str, name: str) -> bool:
    (workload,) = [
        one
        for one in await play.list(WORKLOADS, namespace)
        if one["metadata"]["name"].startswith(f"job-{name}-")
    ]
    return bool(condition(workload, "QuotaReserved")["message"] == "LocalQueue gpu-queue doesn't exist")


async def _beyond_quota(play: Play, namespace: str, name: str) -> bool:
    found = await play.list(WORKLOADS, namespace)
    (workload,) = [one for one in found if one["metadata"]["name"].startswith(f"mpijob-{name}-")]
    return "insufficient quota for nvidia.com/gpu" in condition(workload, "QuotaReserved")["message"]


async def _silent_node(play: Play, namespace: str, name: str) -> bool:
    node = await play.get(NODES, "", name)
    return bool(condition(node, "Ready")["status"] == "Unknown")


async def _cordoned(play: Play, namespace: str, name: str) -> bool:
    return (await play.get(NODES, "", name))["spec"].get("unschedulable") is True


async def _fewer_cards(play: Play, namespace: str, name: str) -> bool:
    status = (await play.get(NODES, "", namespace))["status"]
    missing = int(status["capacity"]["nvidia.com/gpu"]) - int(status["allocatable"]["nvidia.com/gpu"])
    return missing == 1


async def _throttled(play: Play, namespace: str, name: str) -> bool:
    page = play.cluster.fleet.metrics(namespace, play.cluster.clock.now())
    cards = gpus(parse_exposition(page, play.cluster.clock.now()))
    temperatures = {card.index: float(str(card.temperature_celsius)) for card in cards}
    return max(temperatures, key=lambda index: temperatures[index]) == int(name)


async def _no_page(play: Play, namespace: str, name: str) -> bool:
    return name in play.cluster.exporters.silent


def _duty(low: float, high: float) -> Sign:
    async def sign(play: Play, namespace: str, name: str) -> bool:
        (pod,) = await _pods(play, namespace, name)
        now = play.cluster.clock.now()
        cards = gpus(parse_exposition(play.cluster.fleet.metrics(node_of(pod), now), now))
        (own,) = [card for card in cards if card.pod_name == pod["metadata"]["name"]]
        return low <= float(str(own.duty_ratio)) <= high

    return sign


SIGNS: dict[str, Sign] = {
    "image-not-found": _waits_for("ErrImagePull", "ImagePullBackOff"),
    "image-unauthorized": _waits_for("ErrImagePull", "ImagePullBackOff"),
    "out-of-memory": _killed,
    "crash-loop": _waits_for("CrashLoopBackOff"),
    "too-many-gpus": _unplaced("Insufficient nvidia.com/gpu"),
    "too-much-cpu": _unplaced("Insufficient cpu"),
    "missing-secret": _looks_like_secret,
    "missing-claim": _unplaced('persistentvolumeclaim "imagenet" not found'),
    "wrong-queue": _wrong_queue,
    "beyond-quota": _beyond_quota,
    "node-lost": _silent_node,
    "gpu-lost": _fewer_cards,
    "gpu-memory-fault": _fewer_cards,
    "hot-gpu": _throttled,
    "silent-exporter": _no_page,
    "cordoned": _cordoned,
    "starved": _duty(0.0, 0.6),
    "forgotten-notebook": _duty(0.0, 0.02),
}


def test_every_cause_has_a_sign() -> None:
    assert set(SIGNS) == set(causes())
    drawn = load(find("night-shift")).incidents
    assert drawn is not None and set(drawn.causes) == set(causes())


@pytest.mark.parametrize("cause", sorted(causes()))
async def test_a_cause_shows_as_its_truth_says(cause: str) -> None:
    scenario = load(find("night-shift"))
    scenario = msgspec.structs.replace(scenario, incidents=Incidents(causes=(cause,), first="1m"), bulk=())
    play = Play(scenario, seed=5)
    await play.begin()
    await play.to(360)
    (line,) = [one for one in play.cluster.lines if one.cause]
    assert line.cause == cause and line.what and line.at_seconds == 60
    _, *rest = line.about.split("/")
    namespace, name = rest if len(rest) == 2 else ("", rest[0])
    assert await SIGNS[cause](play, namespace, name)


@pytest.mark.parametrize("seed", [1, 7])
async def test_night_shift_the_truth_is_kept_apart(seed: int) -> None:
    play = await Play.of("night-shift", seed)
    await play.to(110)
    storage = play.cluster.operations.storage
    count = sum(len(storage.shelf(one).objects) for one in (PODS, NODES, JOBS, MPIJOBS, DEPLOYMENTS))
    assert count > 800, "a thousand healthy objects, as a newcomer counts them"
    others = [one for one in await play.list(PODS) if phase(one) not in ("Running", "Succeeded")]
    assert not others, "all is well before the first incident"
    await play.to(15 * 60)
    truths = [one for one in play.cluster.lines if one.cause]
    assert len(truths) == 6 and len({one.cause for one in truths}) == 6
    assert [one.at_seconds for one in truths] == [120, 240, 360, 480, 600, 720]
    everything = b"\n".join(
        stored.json for resource in storage.resources() for stored in storage.shelf(resource).objects.values()
    )
    for one in truths:
        assert one.cause.encode() not in everything
        assert one.what.encode() not in everything
