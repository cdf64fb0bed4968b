"""The contestants that are Python programs of their own: `python -m tests.bench.programs NAME`.

Each prints one JSON line. Times are readings of the monotonic clock, which all processes of a machine share,
so that the caller can count from the moment it started the process.
"""

import asyncio
import json
import os
import random
import ssl
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

WATCH_LIST = (
    ("watch", "1"),
    ("sendInitialEvents", "true"),
    ("allowWatchBookmarks", "true"),
    ("resourceVersionMatch", "NotOlderThan"),
)
ACCEPT_WATCH = "application/vnd.kubernetes.protobuf;stream=watch"
INITIAL_EVENTS_END = b"k8s.io/initial-events-end"


async def bare() -> dict[str, Any]:
    """The protobuf stream that the cockpit asks for, read from the socket and thrown away."""
    import aiohttp

    tls = ssl.create_default_context(cafile=os.environ["BENCH_CA"])
    headers = {"Authorization": f"Bearer {os.environ['BENCH_TOKEN']}", "Accept": ACCEPT_WATCH}
    received, tail, first = 0, b"", None
    async with aiohttp.ClientSession(headers=headers, read_bufsize=1 << 18) as client:
        asked = time.monotonic()
        url = f"{os.environ['BENCH_SERVER']}/api/v1/pods"
        async with client.get(url, params=WATCH_LIST, ssl=tls) as answer:
            async for chunk in answer.content.iter_any():
                first = first or time.monotonic()
                received += len(chunk)
                if INITIAL_EVENTS_END in tail + chunk:
                    break
                tail = chunk[-len(INITIAL_EVENTS_END) :]
            ended = time.monotonic()
    return {"asked": asked, "first": first, "ended": ended, "bytes": received}


async def feed() -> dict[str, Any]:
    """The cockpit's own feed into its own store, with no screen."""
    from cockpit import gc_tuning
    from cockpit.attach import watched_kinds
    from cockpit.clock import SystemClock
    from cockpit.kube.feed import Feed
    from cockpit.kube.session import SessionOptions, open_session
    from cockpit.model.batch import Batch, Phase
    from cockpit.model.record import Kind
    from cockpit.store.store import Store

    clock = SystemClock()
    store = Store()
    done = asyncio.Event()
    first: float | None = None

    def sink(batch: Batch) -> None:
        nonlocal first
        store.apply(batch)
        if first is None and batch.kind == Kind.POD and batch.changed:
            first = time.monotonic()
        found = [store.status(kind) for kind in (Kind.POD, Kind.NODE)]
        if all(one is not None and one.phase is Phase.LIVE for one in found):
            done.set()

    gc_tuning.expect_many()
    session = await open_session(SessionOptions(), clock)
    asked = time.monotonic()
    running = asyncio.create_task(
        Feed(session, sink, clock=clock, rng=random.Random(1), watched=watched_kinds()).run()
    )
    waiting = asyncio.create_task(done.wait())
    await asyncio.wait({waiting, running}, return_when=asyncio.FIRST_COMPLETED)
    ended = time.monotonic()
    if running.done():
        running.result()  # streams never end: it failed
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await session.close()
    return {
        "asked": asked,
        "first": first,
        "ended": ended,
        "pods": len(store.records(Kind.POD)),
        "nodes": len(store.records(Kind.NODE)),
    }


async def models() -> dict[str, Any]:
    """The stock asynchronous client: pages of 500 into typed models, all kept, as its users do."""
    from kubernetes.aio import client, config

    await config.load_kube_config()
    asked = time.monotonic()
    first: float | None = None
    kept: list[Any] = []
    async with client.ApiClient() as api:
        core = client.CoreV1Api(api)
        token: str | None = None
        while True:
            page = await core.list_pod_for_all_namespaces(limit=500, _continue=token)
            first = first or time.monotonic()
            kept.extend(page.items)
            token = page.metadata._continue
            if not token:
                break
    return {"asked": asked, "first": first, "ended": time.monotonic(), "pods": len(kept)}


PROGRAMS: dict[str, Callable[[], Awaitable[dict[str, Any]]]] = {"bare": bare, "feed": feed, "models": models}


async def _run(name: str) -> dict[str, Any]:
    return await PROGRAMS[name]()


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_run(sys.argv[1]))))
