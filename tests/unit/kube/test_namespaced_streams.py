"""One kind in namespaces: everywhere where that is allowed, else in each; nothing refused is sent again."""

import asyncio
import json
import random
from typing import Any

import pytest

from cockpit.kube.namespaced_streams import REVIEW_SECONDS, NamespacedStreams, Sink
from cockpit.kube.resource import PODS
from cockpit.kube.session import ApiSession
from cockpit.model.batch import Batch, ListMark, Phase, StreamStatus
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.store.store import Store
from tests.contract.mirror import eventually
from tests.reliability.figures import Tell
from tests.unit.kube.builders import FakeServer, refuse, reply

ACCESS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def review(*, yes: bool) -> Any:
    return reply({"status": {"allowed": yes}}, 201)


def status(scope: str, phase: Phase, message: str = "") -> Batch:
    told = StreamStatus(kind=Kind.POD, scope=scope, phase=phase, message=message)
    return Batch(kind=Kind.POD, scope=scope, status=told)


class Play:
    """Streams that do what a case says, into a real store."""

    def __init__(self, session: ApiSession, *namespaces: str, is_narrow: bool = False) -> None:
        self.store = Store()
        self.opened: list[str] = []
        self.sinks: dict[str, Sink] = {}
        self.naps: list[float] = []
        self.may_wake = asyncio.Event()
        self.streams = NamespacedStreams(
            session, PODS, Kind.POD, self._open, self.store.apply,
            namespaces=namespaces, is_narrow=is_narrow, scope_of=lambda name: name,
            rng=random.Random(1), sleep=self._nap,
        )  # fmt: skip

    async def _open(self, namespace: str, sink: Sink) -> None:
        self.opened.append(namespace)
        self.sinks[namespace] = sink
        try:
            await asyncio.Event().wait()
        finally:
            del self.sinks[namespace]

    async def _nap(self, seconds: float) -> None:
        self.naps.append(seconds)
        await self.may_wake.wait()
        self.may_wake.clear()

    async def until(self, *namespaces: str) -> None:
        """Wait until exactly these are read."""
        await eventually(lambda: set(self.sinks) == set(namespaces), f"reads {namespaces}")

    def lists(self, scope: str, *names: str) -> None:
        """The whole list of one stream; names are namespace/name."""
        told = StreamStatus(kind=Kind.POD, scope=scope, phase=Phase.LIVE, objects=len(names))
        pods = tuple(Pod(uid=one, name=one.split("/")[1], namespace=one.split("/")[0]) for one in names)
        self.sinks[scope](Batch(kind=Kind.POD, scope=scope, mark=ListMark.BEGIN))
        self.sinks[scope](Batch(kind=Kind.POD, scope=scope, changed=pods, mark=ListMark.END, status=told))

    def names(self) -> list[str]:
        return sorted(one.key for one in self.store.records(Kind.POD).values())


async def _playing(play: Play, story: Any) -> None:
    task = asyncio.create_task(play.streams.run())
    try:
        await story
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def reviews(server: FakeServer) -> list[Any]:
    return [json.loads(one.body)["spec"]["resourceAttributes"] for one in server.seen if one.path == ACCESS]


async def test_a_refused_list_is_reviewed_and_each_namespace_read(
    server: FakeServer, session: ApiSession
) -> None:
    server.on(ACCESS, review(yes=False))
    play = Play(session, "team-a", "team-b")

    async def story() -> None:
        await play.until("")
        play.sinks[""](status("", Phase.DENIED, "You cannot list pods in all namespaces."))
        await play.until("team-a", "team-b")
        assert play.store.status(Kind.POD) is None, "that the cluster-wide list is refused is no trouble"
        play.lists("team-a", "team-a/x")
        play.lists("team-b", "team-b/y")
        assert play.names() == ["team-a/x", "team-b/y"]
        told = play.store.status(Kind.POD)
        assert told is not None
        assert (told.phase, told.scope, told.objects, told.is_whole) == (
            Phase.LIVE,
            "team-a,team-b",
            2,
            False,
        )

    await _playing(play, story())
    assert reviews(server) == [{"verb": "list", "resource": "pods", "version": "v1"}]


async def test_a_denied_namespace_is_left_out_and_told(server: FakeServer, session: ApiSession) -> None:
    server.on(ACCESS, review(yes=False))
    play = Play(session, "team-a", "team-b")

    async def story() -> None:
        await play.until("")
        play.sinks[""](status("", Phase.DENIED))
        await play.until("team-a", "team-b")
        play.lists("team-a", "team-a/x")
        play.sinks["team-b"](status("team-b", Phase.DENIED, "You cannot list pods in team-b."))
        told = play.store.status(Kind.POD)
        assert told is not None
        assert (told.phase, told.is_partial) == (Phase.LIVE, True)
        assert told.message == "You cannot list pods in team-b."
        play.sinks["team-a"](status("team-a", Phase.DENIED, "You cannot list pods in team-a."))
        told = play.store.status(Kind.POD)
        assert told is not None
        assert (told.phase, told.is_partial) == (Phase.DENIED, False)

    await _playing(play, story())


async def test_what_no_review_confirms_narrows_nothing(server: FakeServer, session: ApiSession) -> None:
    """Rejected credentials look like a denial, and say nothing about rights."""
    server.on(ACCESS, refuse(401, "Unauthorized", "Unauthorized"))
    play = Play(session, "team-a")

    async def story() -> None:
        await play.until("")
        play.sinks[""](status("", Phase.DENIED, "log in again"))
        await eventually(lambda: play.store.status(Kind.POD) is not None, "the denial is told")
        told = play.store.status(Kind.POD)
        assert told is not None
        assert told.message == "log in again"
        assert set(play.sinks) == {""}

    await _playing(play, story())


async def test_a_right_that_is_granted_widens_and_one_that_is_revoked_narrows(
    server: FakeServer, session: ApiSession
) -> None:
    server.on(ACCESS, review(yes=False), review(yes=False), review(yes=True), review(yes=False))
    play = Play(session, "team-a")

    async def story() -> None:
        await play.until("")
        play.sinks[""](status("", Phase.DENIED))
        await play.until("team-a")
        play.lists("team-a", "team-a/x", "team-a/gone")
        play.may_wake.set()
        await eventually(lambda: len(play.naps) == 2, "the second pause")
        play.may_wake.set()
        await play.until("")
        assert play.names() == ["team-a/gone", "team-a/x"], "stays until the wider list is whole"
        play.lists("", "team-a/x", "team-b/y")
        assert play.names() == ["team-a/x", "team-b/y"]
        assert set(play.store.statuses()) == {"pods"}
        play.sinks[""](status("", Phase.DENIED))
        await play.until("team-a")
        assert play.names() == ["team-a/x", "team-b/y"]
        play.lists("team-a", "team-a/x")
        assert play.names() == ["team-a/x"], "rows that may not be read any more are gone"
        assert set(play.store.statuses()) == {"pods/team-a"}

    await _playing(play, story())
    assert play.opened == ["", "team-a", "", "team-a"], "no refused list was sent again"
    pauses = (*REVIEW_SECONDS[:2], REVIEW_SECONDS[0])
    assert all(1.0 <= nap / pause <= 1.07 for nap, pause in zip(play.naps, pauses, strict=True))


async def test_a_narrow_reader_asks_for_nothing_more(server: FakeServer, session: ApiSession) -> None:
    play = Play(session, "team-a", is_narrow=True)

    async def story() -> None:
        await play.until("team-a")
        play.lists("team-a", "team-a/x")
        assert play.names() == ["team-a/x"]

    await _playing(play, story())
    assert (play.opened, play.naps, reviews(server)) == (["team-a"], [], [])


@pytest.mark.row(33, "reviews of a wider right apart", most=300, unit="s")
def test_a_right_that_is_granted_is_seen_within_five_minutes(figure: Tell) -> None:
    figure("reviews of a wider right apart", max(REVIEW_SECONDS) * 1.07)
