"""What is known of a kind: absence is told by whole lists alone."""

import pytest

from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.listing import Complete, Gap, Incomplete, listing
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.store.store import Store

RESOURCE = "nodepools.karpenter.sh"


def store_with(*streams: tuple[str, Phase, int], kind: str = Kind.POD) -> Store:
    made = Store()
    for scope, phase, objects in streams:
        status = StreamStatus(kind=kind, scope=scope, phase=phase, objects=objects)
        made.apply(Batch(kind=kind, scope=scope, status=status))
    return made


def test_a_list_that_is_watched_whole_tells_what_is_absent() -> None:
    made = store_with(("", Phase.LIVE, 1))
    made.apply(Batch(kind=Kind.POD, changed=(Pod(uid="a", name="a", namespace="team-a"),)))
    known = listing(made, Kind.POD)
    assert isinstance(known, Complete)
    assert known.has_all
    assert known.lacks("team-a/b")
    assert not known.lacks("team-a/a")
    assert isinstance(listing(made, Kind.NODE), Complete)  # no stream tells of it
    assert not hasattr(Incomplete, "lacks")


@pytest.mark.parametrize(
    ("phase", "objects", "gap", "has_all"),
    [
        (Phase.DENIED, 0, Gap.DENIED, False),
        (Phase.CONNECTING, 0, Gap.UNREAD, False),
        (Phase.LISTING, 5, Gap.UNREAD, False),
        (Phase.BACKING_OFF, 0, Gap.UNREAD, False),
        (Phase.BACKING_OFF, 5, Gap.STALE, True),
        (Phase.NOT_LOGGED_IN, 5, Gap.STALE, True),
        (Phase.STALE, 5, Gap.STALE, True),
        (Phase.POLLED, 5, Gap.POLLED, True),
    ],
)
def test_any_other_list_says_what_it_lacks(phase: Phase, objects: int, gap: Gap, has_all: bool) -> None:
    known = listing(store_with(("", phase, objects)), Kind.POD)
    assert known == Incomplete(Kind.POD, gap)
    assert isinstance(known, Incomplete)
    assert known.has_all is has_all
    assert known.words == f"pods are {gap.value}"


def test_a_namespace_is_known_whole_where_others_are_not() -> None:
    made = store_with(("team-a", Phase.LIVE, 1), ("team-b", Phase.DENIED, 0))
    assert isinstance(listing(made, Kind.POD, "team-a"), Complete)
    assert listing(made, Kind.POD, "team-b") == Incomplete(Kind.POD, Gap.DENIED)
    for namespace in ("", "elsewhere"):
        known = listing(made, Kind.POD, namespace)
        assert isinstance(known, Incomplete)
        assert not known.has_all
        assert known.words == "only pods of team-a are listed"
    both = store_with(("team-a", Phase.LIVE, 1), ("", Phase.STALE, 1))
    assert listing(both, Kind.POD) == Incomplete(Kind.POD, Gap.STALE)
    denied = store_with(("team-a", Phase.DENIED, 0), ("team-b", Phase.DENIED, 0))
    assert listing(denied, Kind.POD) == Incomplete(Kind.POD, Gap.DENIED)


def test_a_kind_of_several_resources_is_whole_where_each_served_one_is() -> None:
    whole = store_with((RESOURCE, Phase.LIVE, 1), ("b.x.io", Phase.ABSENT, 0), kind=Kind.POOL)
    assert isinstance(listing(whole, Kind.POOL), Complete)
    half = store_with((RESOURCE, Phase.LIVE, 1), ("b.x.io", Phase.DENIED, 0), kind=Kind.POOL)
    assert listing(half, Kind.POOL) == Incomplete(Kind.POOL, Gap.PARTIAL)
    spaced = store_with((f"{RESOURCE}/team-a", Phase.LIVE, 1), kind=Kind.POOL)
    assert isinstance(listing(spaced, Kind.POOL, "team-a"), Complete)
    assert not listing(spaced, Kind.POOL).has_all
