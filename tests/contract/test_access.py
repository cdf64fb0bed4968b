"""What each person may do, asked of the server, and what a stream says when it may not."""

import asyncio

import pytest

from cockpit.clock import ManualClock
from cockpit.errors import Refused
from cockpit.kube.access import can
from cockpit.kube.resource import EVENTS, JOBS, NODES, PODS, Resource
from cockpit.model.batch import Phase
from tests.adapters.faults.proxy import FaultProxy
from tests.bed.api import Api
from tests.bed.rights import allow, until_decided
from tests.contract.conftest import Connect
from tests.contract.faults import status
from tests.contract.following import following
from tests.contract.mirror import eventually
from tests.contract.server import Server
from tests.contract.shapes import pod, role
from tests.reliability.figures import Tell

SECRETS = Resource("", "v1", "secrets", "Secret", namespaced=True)

# (who, verb, what, subresource, in the engineer's namespace?, may)
RIGHTS = [
    ("admin", "delete", NODES, "", False, True),
    ("admin", "create", PODS, "eviction", True, True),
    ("viewer", "list", PODS, "", False, True),
    ("viewer", "watch", NODES, "", False, True),
    ("viewer", "get", PODS, "log", False, True),
    ("viewer", "delete", PODS, "", False, False),
    ("viewer", "create", PODS, "exec", False, False),
    ("viewer", "get", SECRETS, "", False, False),
    ("viewer", "patch", NODES, "", False, False),
    ("engineer", "create", JOBS, "", True, True),
    ("engineer", "delete", PODS, "", True, True),
    ("engineer", "create", PODS, "eviction", True, True),
    ("engineer", "list", PODS, "", False, False),
    ("engineer", "create", JOBS, "", False, False),
    ("engineer", "list", NODES, "", False, False),
    ("engineer", "get", SECRETS, "", True, False),
    ("nobody", "list", PODS, "", False, False),
    ("nobody", "get", NODES, "", False, False),
    ("nobody", "watch", EVENTS, "", True, False),
]


@pytest.mark.parametrize(
    ("who", "verb", "resource", "subresource", "at_home", "may"),
    RIGHTS,
    ids=[
        f"{who}-{verb}-{res.plural}{f'/{sub}' if sub else ''}{'-home' if home else ''}"
        for who, verb, res, sub, home, _ in RIGHTS
    ],
)
async def test_a_review_says_what_the_server_will_do(
    server: Server,
    connect: Connect,
    who: str,
    verb: str,
    resource: Resource,
    subresource: str,
    at_home: bool,
    may: bool,
) -> None:
    namespace = server.engineer_namespace if at_home else ""
    session = await connect(who)
    assert session.read_only, "asking is reading"
    assert await can(session, verb, resource, namespace=namespace, subresource=subresource) is may


async def test_a_review_follows_a_new_right(server: Server, space: str, admin: Api, connect: Connect) -> None:
    session = await connect("nobody")
    assert not await can(session, "list", PODS, namespace=space)
    _allow(admin, server, space, "list", "watch")
    assert await can(session, "list", PODS, namespace=space)
    assert not await can(session, "list", PODS), "only there"


async def test_a_right_to_one_name_is_asked_by_name(
    server: Server, space: str, admin: Api, connect: Connect
) -> None:
    one = role("one", ("", "pods", ("delete",)))
    one["rules"][0]["resourceNames"] = ["mine"]
    allow(admin, server.usernames["nobody"], space, one)
    session = await connect("nobody")
    assert await can(session, "delete", PODS, namespace=space, name="mine")
    assert not await can(session, "delete", PODS, namespace=space, name="yours")


async def test_a_review_with_a_dead_token_is_an_error_and_no_no(connect: Connect, proxy: FaultProxy) -> None:
    session = await connect("viewer", through=proxy)
    proxy.plan(status(401, reason="Unauthorized", message="Unauthorized"), times=None)
    with pytest.raises(Refused):
        await can(session, "list", PODS)


# ---- streams without the right


def _allow(admin: Api, server: Server, space: str, *verbs: str) -> None:
    allow(admin, server.usernames["nobody"], space, role("see", ("", "pods", verbs)))


@pytest.mark.parametrize("resource", [PODS, NODES, EVENTS, JOBS], ids=lambda one: one.label)
async def test_a_stream_without_the_right_is_denied_in_words(
    space: str, connect: Connect, resource: Resource
) -> None:
    async with following(await connect("nobody"), resource, namespace=space, clock=ManualClock()) as one:
        one.naps.gate.clear()
        await one.mirror.until(lambda: one.mirror.phase is Phase.DENIED)
        assert "cannot list" in one.mirror.message
        assert resource.label in one.mirror.message
        assert one.mirror.lists_ended == 0, "denied is not empty"


@pytest.mark.row(30, "times that what is refused is asked for in 5 min", most=1)
async def test_a_denied_stream_asks_once_in_five_minutes(
    space: str, connect: Connect, proxy: FaultProxy, figure: Tell
) -> None:
    """A watch and a list are rights of their own: it is seen which of them is missing."""
    session, clock = await connect("nobody", through=proxy), ManualClock()
    proxy.clock = clock
    async with following(session, PODS, namespace=space, clock=clock) as one:
        await one.naps.hold_after(3600)
        for is_watch in (True, False):
            times = [seen.at_seconds for seen in proxy.requests("/pods", watch=is_watch)]
            most = max((sum(0 <= at - first < 299 for at in times) for first in times), default=0)
            figure("times that what is refused is asked for in 5 min", most)
        assert len(proxy.requests("/pods")) > 10, "it keeps trying"


async def test_the_engineer_sees_one_namespace_and_not_all(server: Server, connect: Connect) -> None:
    session = await connect("engineer")
    async with (
        following(session, PODS, namespace=server.engineer_namespace) as home,
        following(session, PODS, clock=ManualClock()) as all_of_them,
    ):
        all_of_them.naps.gate.clear()
        await home.mirror.until_live()
        await all_of_them.mirror.until(lambda: all_of_them.mirror.phase is Phase.DENIED)


@pytest.mark.row(33, "seen after", most=300, unit="s")
@pytest.mark.row(33, "seen after a key", most=1, unit="s")
@pytest.mark.parametrize("by_key", [False, True], ids=["in time", "by a key"])
async def test_a_right_given_later_brings_the_rows(
    server: Server, space: str, admin: Api, connect: Connect, by_key: bool, figure: Tell
) -> None:
    admin.create(f"/api/v1/namespaces/{space}/pods", pod("p"))
    clock, session = ManualClock(), await connect("nobody")
    async with following(session, PODS, namespace=space, clock=clock) as one:
        one.naps.gate.clear()
        await one.mirror.until(lambda: one.mirror.phase is Phase.DENIED)
        await eventually(lambda: one.naps.waiting, "it waits")
        _allow(admin, server, space, "list", "watch")
        granted = clock.monotonic()
        if by_key:
            session.pulse.ask_again()
            for _ in range(20):  # the sleeper wakes before the clock may move
                await asyncio.sleep(0)
        one.naps.gate.set()
        await one.mirror.until_live()
        assert one.mirror.names == ["p"]
        taken = clock.monotonic() - granted
        figure("seen after", taken)
        figure("seen after a key", taken if by_key else 0)


@pytest.mark.row(32, "told after the stream ended", most=10, unit="s")
@pytest.mark.row(32, "requests until then", most=5)
@pytest.mark.row(32, "requests in the hour after", most=15)
async def test_a_right_taken_away_is_told_when_the_stream_ends(
    server: Server, space: str, admin: Api, connect: Connect, proxy: FaultProxy, figure: Tell
) -> None:
    admin.create(f"/api/v1/namespaces/{space}/pods", pod("p"))
    _allow(admin, server, space, "list", "watch")
    session, clock = await connect("nobody", through=proxy), ManualClock()
    async with following(session, PODS, namespace=space, clock=clock) as one:
        await one.mirror.until_live()
        admin.delete(f"/apis/rbac.authorization.k8s.io/v1/namespaces/{space}/rolebindings/see")
        user = server.usernames["nobody"]
        until_decided(admin, user, is_allowed=False, verb="watch", resource="pods", namespace=space)
        proxy.seen.clear()
        clock.advance(60)
        ended = clock.monotonic()
        proxy.cut_all()
        await one.mirror.until(lambda: one.mirror.phase is not Phase.LIVE)
        assert one.mirror.phase is not Phase.LIVE, "its rows are marked"
        await one.mirror.until(lambda: one.mirror.phase is Phase.DENIED)
        status = one.mirror.status
        assert status is not None and status.since_seconds is not None
        figure("told after the stream ended", status.since_seconds - clock.now() + clock.monotonic() - ended)
        asked = len(proxy.requests("/pods"))
        figure("requests until then", asked)
        await one.naps.hold_after(3600)
        figure("requests in the hour after", len(proxy.requests("/pods")) - asked)
        assert one.mirror.names == ["p"], "they stay, and are marked as what may not be read any more"


async def test_a_right_to_list_but_not_to_watch_is_denied_and_says_watch(
    server: Server, space: str, admin: Api, connect: Connect
) -> None:
    _allow(admin, server, space, "list")
    async with following(await connect("nobody"), PODS, namespace=space, clock=ManualClock()) as one:
        one.naps.gate.clear()
        await one.mirror.until(lambda: "watch" in one.mirror.message)
        assert PODS.label in one.mirror.message


async def test_a_token_that_dies_under_a_stream_is_told(
    space: str, connect: Connect, proxy: FaultProxy
) -> None:
    session = await connect("viewer", through=proxy)
    async with following(session, PODS, namespace=space, clock=ManualClock()) as one:
        await one.mirror.until_live()
        proxy.plan(status(401, reason="Unauthorized", message="Unauthorized"), times=None)
        one.naps.gate.clear()
        proxy.cut_all()
        one.naps.gate.set()
        await one.mirror.until(lambda: one.mirror.phase is Phase.NOT_LOGGED_IN)
        assert "401" in one.mirror.message
        assert "log in again" in one.mirror.message
