"""Alerts that Debian's Alertmanager fires, silences, inhibits and resolves, as *Now* gets them."""

import asyncio
import json
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from cockpit.clock import SystemClock
from cockpit.model.alert import OWN_ALERT, Alert
from cockpit.model.batch import Phase
from cockpit.model.metrics_server import ALERTMANAGER, MetricsServer
from cockpit.model.record import Kind
from cockpit.notify.outbox import FindingChange
from cockpit.notify.receivers import HttpReceiver
from cockpit.store.store import Store
from cockpit.telemetry.alertmanager import AlertPoller
from tests.bed.distro import ensure_program
from tests.bed.layout import free_ports
from tests.differential.test_telemetry_rules_real import until_it_listens
from tests.unit.notify.test_findings_out import ITEM

pytestmark = pytest.mark.real
NOW = datetime.now(UTC)
SETTINGS = {
    "route": {"receiver": "none"},
    "receivers": [{"name": "none"}],
    "inhibit_rules": [
        {
            "source_matchers": ['alertname="NodeDown"'],
            "target_matchers": ['alertname="Slow"'],
            "equal": ["node"],
        }
    ],
}


def labelled(name: str, **labels: str) -> dict[str, Any]:
    return {
        "labels": {"alertname": name, "severity": "critical", **labels},
        "annotations": {"summary": f"{name} since a while"},
        "startsAt": (NOW - timedelta(minutes=5)).isoformat(),
    }


TEMPLATES = Path("/usr/share/prometheus/alertmanager")
IN_OWN_SHARE = 'mount -t tmpfs none /usr/share && cp -r "$0"/usr/share/. /usr/share && shift && exec "$@"'
"""Debian's program reads its templates from there: where it was only unpacked, in a view of files that is its
alone."""


def command(program: Path) -> list[str]:
    root = program.parent.parent / "root"
    if TEMPLATES.exists():
        return [str(program)]
    return ["unshare", "--map-root-user", "--mount", "sh", "-c", IN_OWN_SHARE, str(root), "--", str(program)]


@asynccontextmanager
async def alertmanager(folder: Path) -> AsyncIterator[str]:
    program = await asyncio.to_thread(ensure_program, "prometheus-alertmanager", print)
    port = free_ports(["alertmanager"])["alertmanager"]
    (folder / "config.yaml").write_text(yaml.safe_dump(SETTINGS))
    process = await asyncio.create_subprocess_exec(
        *command(program),
        f"--config.file={folder / 'config.yaml'}",
        f"--storage.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--cluster.listen-address=",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        await until_it_listens(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        await process.wait()


async def post(url: str, body: Any) -> None:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})

    def send() -> None:
        with urllib.request.urlopen(request, timeout=30) as answer:
            answer.read()

    await asyncio.to_thread(send)


class Reader:
    """What the poller has put into a store."""

    def __init__(self, url: str, *filters: str) -> None:
        async def none(*_asked: object) -> Any:
            raise AssertionError("nothing goes through the API server")

        self.store = Store()
        server = MetricsServer(url, filters=filters, kind=ALERTMANAGER)
        self.poller = AlertPoller(
            server, "prod", self.store.apply, SystemClock(), get_proxied=none, list_services=none
        )

    async def names(self) -> list[str]:
        await self.poller.read()
        status = self.store.status(Kind.ALERT)
        assert status is not None and status.phase is Phase.LIVE, status
        return sorted(alert.name for alert in self.alerts)

    @property
    def alerts(self) -> list[Alert]:
        return list(self.store.records(Kind.ALERT).values())


async def until(reader: Reader, names: list[str]) -> None:
    """Inhibition and silences take Alertmanager a moment."""
    async with asyncio.timeout(30):
        while await reader.names() != names:  # noqa: ASYNC110
            await asyncio.sleep(0.2)


async def test_what_fires_and_nothing_else(tmp_path: Path) -> None:
    async with alertmanager(tmp_path) as url:
        down, slow = labelled("NodeDown", node="gpu-1"), labelled("Slow", node="gpu-1")
        quiet, other = labelled("Noise", node="gpu-2"), labelled("NodeDown", node="gpu-1", cluster="eu")
        await post(f"{url}/api/v2/alerts", [down, slow, quiet])
        matcher = {"name": "alertname", "value": "Noise", "isRegex": False, "isEqual": True}
        silence = {
            "matchers": [matcher], "createdBy": "ada", "comment": "known",
            "startsAt": NOW.isoformat(), "endsAt": (NOW + timedelta(hours=1)).isoformat(),
        }  # fmt: skip
        await post(f"{url}/api/v2/silences", silence)
        change = FindingChange(
            key="k", finding_key="f", event="new", context="prod", item=ITEM,
            first_seconds=NOW.timestamp(), at_seconds=NOW.timestamp(),
        )  # fmt: skip
        await asyncio.to_thread(HttpReceiver("alertmanager", url, {}).send, change)
        reader = Reader(url)
        await until(reader, ["NodeDown"])
        (alert,) = reader.alerts
        assert (alert.severity, alert.about) == ("critical", (("host", "gpu-1"),))
        assert alert.since_seconds == pytest.approx((NOW - timedelta(minutes=5)).timestamp(), abs=0.01)
        assert alert.summary == "NodeDown since a while"

        posted = Reader(url, f'alertname="{OWN_ALERT}"')
        assert await posted.names() == []

        await post(f"{url}/api/v2/alerts", [other])
        assert await Reader(url, 'cluster="eu"').names() == ["NodeDown"]

        ended = {**down, "endsAt": datetime.now(UTC).isoformat()}
        await post(f"{url}/api/v2/alerts", [ended, {**other, "endsAt": ended["endsAt"]}])
        await until(reader, ["Slow"])  # which the other one inhibited
        await reader.poller._close()
        await posted.poller._close()
