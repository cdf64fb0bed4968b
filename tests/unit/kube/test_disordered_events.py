"""Events that come twice, in another order, or speak of what was never there, on their way to the store."""

import random

import pytest

from cockpit.clock import ManualClock
from cockpit.kube.batcher import Batcher
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.store.store import Store
from tests.reliability.figures import Tell, whole

Event = tuple[str, Pod]
PHASES = ("Pending", "Running", "Succeeded")
POD_NAMES = 6


def some_event(rng: random.Random, version: int) -> Event:
    """Of one of a few names, each with two uids: the second is another pod under the same name."""
    number, generation = rng.randrange(POD_NAMES), rng.randrange(2)
    pod = Pod(
        uid=f"u{number}-{generation}",
        name=f"p{number}",
        namespace="team-a",
        resource_version=str(version),
        phase=rng.choice(PHASES),
        node=rng.choice(("", "n1", "n2")),
    )
    return rng.choice(("ADDED", "MODIFIED", "MODIFIED", "DELETED")), pod


def disordered(rng: random.Random, version: int) -> list[Event]:
    """A few events, of which some come twice, some at another place, and some delete what never was."""
    events = [some_event(rng, version + number) for number in range(rng.randint(1, 6))]
    for event in rng.choices(events, k=rng.randint(0, 2)):
        events.insert(rng.randint(0, len(events)), event)
    if rng.random() < 0.3:
        rng.shuffle(events)
    if rng.random() < 0.3:
        never = Pod(uid=f"never-{version}", name=f"never-{version}", namespace="team-a")
        events.insert(rng.randint(0, len(events)), ("DELETED", never))
    return events


def follow(model: dict[str, Pod], events: list[Event]) -> None:
    """What a plain dict makes of them, one after the other."""
    for verb, pod in events:
        if verb == "DELETED":
            model.pop(pod.uid, None)
            continue
        for uid in [uid for uid, other in model.items() if other.name == pod.name and uid != pod.uid]:
            del model[uid]
        model[pod.uid] = pod


def send(batcher: Batcher, events: list[Event], rng: random.Random) -> None:
    """Through the reflector's batches, which end anywhere."""
    for verb, pod in events:
        if verb == "DELETED":
            batcher.removed(pod.uid)
        else:
            batcher.changed(pod, is_new=verb == "ADDED")
        if rng.random() < 0.2:
            batcher.flush()
    batcher.flush()


@pytest.mark.row(12, "sequences", least=1_000_000, unit="cases")
@pytest.mark.row(12, "sequences after which the state is not the model's", most=0)
@pytest.mark.row(12, "sequences that change something when sent again", most=0)
def test_the_state_is_the_models_whatever_comes(figure: Tell) -> None:
    """Every tenth sequence is sent a second time, and must change nothing."""
    rng, store, model = random.Random(12), Store(), dict[str, Pod]()
    batcher = Batcher(store.apply, ManualClock(), Kind.POD, "")
    sequences, unlike, unsteady = whole(1_000_000, 3_000), 0, 0
    for number in range(sequences):
        events = disordered(rng, 10 * number)
        send(batcher, events, rng)
        follow(model, events)
        table = store.records(Kind.POD)
        unlike += table != model
        if number % 10 == 0:
            before = dict(table)
            send(batcher, events, rng)
            unsteady += store.records(Kind.POD) != before
    figure("sequences", sequences)
    figure("sequences after which the state is not the model's", unlike)
    figure("sequences that change something when sent again", unsteady)
    for node in ("n1", "n2"):
        here = [pod for pod in sorted(model.values(), key=lambda pod: pod.name) if pod.node == node]
        assert list(store.pods_on(node)) == here
