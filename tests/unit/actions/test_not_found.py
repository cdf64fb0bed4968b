"""A name that nothing has: absent where everything was read, not known where something was denied."""

import pytest

from cockpit.actions.find import or_unread
from cockpit.actions.subjects import subject_named
from cockpit.errors import CockpitError, NotFound, Refused
from cockpit.jobs.index import JobIndex
from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.namespaces import EVERY
from cockpit.model.node import Node
from cockpit.model.record import Kind
from cockpit.store.store import Store
from cockpit.triage.context import ClusterView

SAYS = "You cannot list or watch pods: ask for that right."


def store_with(phase: Phase, kind: str = Kind.POD, scope: str = "") -> Store:
    store = Store()
    store.apply(Batch(kind=Kind.NODE, changed=(Node(uid="n", name="gpu-1"),)))
    message = SAYS if phase is Phase.DENIED else ""
    store.apply(Batch(kind=kind, status=StreamStatus(kind=kind, scope=scope, phase=phase, message=message)))
    return store


def sought(store: Store, kind: str, name: str) -> CockpitError:
    view = ClusterView(store=store, jobs=JobIndex(store), now_seconds=0.0)
    with pytest.raises(CockpitError) as caught, or_unread(store, (Kind.POD, Kind.POOL, Kind.LOCAL_QUEUE)):
        subject_named(kind, name, view, EVERY)
    return caught.value


@pytest.mark.parametrize("kind", ["pod", "gang", "job", "queue", "pool", "node"])
def test_what_is_denied_is_not_called_absent(kind: str) -> None:
    name = "team-a/gpu-2" if kind in ("pod", "gang", "job", "queue") else "gpu-2"
    denied = sought(store_with(Phase.DENIED), kind, name)
    assert (type(denied), denied.exit_code) == (Refused, 1)
    assert denied.sentence.startswith(f"{kind} {name!r} is not known: {SAYS[:-1]}; ") or kind in (
        "pod",
        "gang",
    )
    assert SAYS[:-1] in denied.sentence and "there is no" not in denied.sentence
    live = sought(store_with(Phase.LIVE), kind, name)
    assert (type(live), live.exit_code) == (NotFound, 2)
    assert live.sentence.startswith("there is no ")


@pytest.mark.parametrize("phase", [Phase.DENIED, Phase.CONNECTING, Phase.NOT_LOGGED_IN, Phase.BACKING_OFF])
def test_so_it_is_with_one_namespace_of_several(phase: Phase) -> None:
    found = sought(store_with(phase, scope="team-b"), "job", "team-b/llm")
    assert type(found) is Refused and "is not known: " in found.sentence


def test_another_kind_that_is_denied_changes_nothing() -> None:
    assert type(sought(store_with(Phase.DENIED, Kind.EVENT), "job", "llm")) is NotFound
