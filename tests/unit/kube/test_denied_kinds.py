"""Row 31 of the reliability table: one kind after the other may not be read, and all others are."""

import asyncio
from typing import Any

import pytest
from aiohttp import web

from cockpit.attach import watched_kinds
from cockpit.clock import ManualClock
from cockpit.kube.feed import CORE, CUSTOM
from cockpit.kube.session import ApiSession
from cockpit.model.batch import Phase
from cockpit.store.store import Store
from tests.reliability.figures import Tell
from tests.unit.kube.builders import FakeServer, bookmark, refuse, reply, stream
from tests.unit.kube.test_discovery import aggregated, entry, group
from tests.unit.kube.test_feed import feed_of

FORBIDDEN = '{} is forbidden: User "v" cannot {} resource "{}" in API group "{}" at the cluster scope'


def served() -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Of all watched kinds: the name of each by its path, and what discovery says of those beside core."""
    paths = {resource.path(""): resource.plural for resource, _ in CORE}
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    known = [(one.group, one.plural, one.versions) for one in CUSTOM]
    known += [(one.group, one.plural, one.versions) for one in watched_kinds() if not one.name]
    for name, plural, versions in dict.fromkeys(known):
        version = versions[0] if versions else "v1"
        found.setdefault((name, version), []).append(entry(plural, plural.title()))
        paths[f"/apis/{name}/{version}/{plural}"] = plural
    groups: dict[str, dict[str, Any]] = {}
    for (name, version), entries in found.items():
        groups.setdefault(name, {})[version] = entries
    return paths, [group(name, **versions) for name, versions in groups.items()]


PATHS, GROUPS = served()


class Denying:
    """A server of every kind, of which one may not be read."""

    def __init__(self, server: FakeServer) -> None:
        self.denied = ""
        for path in PATHS:
            server.on(path, self.kind)
        server.on("/api", reply(aggregated()))
        server.on("/apis", reply(aggregated(*GROUPS)))
        server.on("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", self.review)

    async def kind(self, request: web.Request) -> web.StreamResponse:
        if request.path == self.denied:
            plural = request.path.rpartition("/")[2]
            verb = "watch" if "watch" in request.query else "list"
            said = FORBIDDEN.format(plural, verb, plural, "")
            return await refuse(403, "Forbidden", said)(request)
        return await stream(bookmark("9", ends_list=True), stays=True)(request)

    async def review(self, request: web.Request) -> web.StreamResponse:
        return await reply({"status": {"allowed": False}}, 201)(request)


@pytest.mark.row(31, "kinds told as denied by name while all others are live, of all", least=1.0)
@pytest.mark.row(31, "kinds", least=20)
@pytest.mark.row(31, "crashes", most=0)
async def test_one_denied_kind_costs_no_other(
    server: FakeServer, session: ApiSession, clock: ManualClock, figure: Tell
) -> None:
    denying, well, crashes = Denying(server), 0, 0
    for path, plural in PATHS.items():
        denying.denied, store = path, Store()
        told = asyncio.Event()

        def sink(batch: Any, store: Store = store, told: asyncio.Event = told) -> None:
            store.apply(batch)
            told.set()

        feed = asyncio.create_task(feed_of(session, sink, clock).run())  # type: ignore[arg-type]
        try:
            async with asyncio.timeout(10):
                while not feed.done():
                    states = list(store.statuses().values())
                    live = sum(one.phase is Phase.LIVE for one in states)
                    denied = [one.message for one in states if one.phase is Phase.DENIED]
                    if live == len(PATHS) - 1 and denied:
                        well += len(denied) == 1 and f"cannot list or watch {plural}" in denied[0]
                        break
                    told.clear()
                    await told.wait()
        finally:
            crashes += feed.done()
            feed.cancel()
            await asyncio.gather(feed, return_exceptions=True)
    figure("kinds", len(PATHS))
    figure("crashes", crashes)
    figure("kinds told as denied by name while all others are live, of all", well / len(PATHS))
