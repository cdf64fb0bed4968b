"""A scripted API server and a session on it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cockpit.clock import ManualClock
from cockpit.kube.session import Session, SessionOptions, open_session
from tests.unit.kube.builders import FakeServer, kubeconfig, serving
from tests.unit.kube.watching import Watcher


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(autouse=True)
def no_ambient_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "KUBECONFIG",
        "KUBERNETES_SERVICE_HOST",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "ALL_PROXY",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
async def server() -> AsyncIterator[FakeServer]:
    async with serving(FakeServer()) as running:
        yield running


@pytest.fixture
async def session(server: FakeServer, tmp_path: Path, clock: ManualClock) -> AsyncIterator[Session]:
    opened = await open_session(
        SessionOptions(kubeconfig=kubeconfig(tmp_path, server.url), check=False), clock
    )
    yield opened
    await opened.close()


@pytest.fixture
def watcher(session: Session, clock: ManualClock) -> Watcher:
    return Watcher(session, clock)
