"""Alerts as doctor and triage tell them, read by the setting, beside both servers."""

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.telemetry.test_alert_decode import entry


@pytest.fixture
def alertmanager() -> Iterator[str]:
    """A small one, with an alert about nothing of the cluster."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_known = self.path.startswith("/api/v2/alerts?active=true&")
            body = json.dumps([entry("Watchdog")] if is_known else []).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_words: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def tree(text: str) -> dict[str, Any]:
    """The JSON among the notes of a command."""
    found: dict[str, Any] = json.JSONDecoder().raw_decode(text[text.index("{") :])[0]
    return found


def check(text: str) -> dict[str, Any]:
    found: dict[str, Any] = next(item for item in tree(text)["items"] if item["check"] == "alerts")
    return found


def configure(folder: Path, url: str) -> None:
    place = folder / "CONFIG" / "gpu-cockpit"
    place.mkdir(parents=True)
    (place / "config.toml").write_text(f'alertmanager-url = "{url}"\n')


async def test_doctor_and_triage_say_that_they_are_read(said: Any, alertmanager: str, tmp_path: Path) -> None:
    configure(tmp_path, alertmanager)
    _, text = await said("doctor", "-o", "json")
    assert check(text) == {
        "check": "alerts", "is_amiss": False, "remedy": "",
        "found": "0 alerts about nodes and jobs; 1 about other things, not shown",
    }  # fmt: skip
    _, text = await said("triage", "-o", "json")
    source = tree(text)["alertmanager"]
    assert (source["phase"], source["others"]) == ("live", 1)
    assert not [item for item in tree(text)["items"] if item["alerts"]]


async def test_doctor_and_triage_say_that_they_are_not(said: Any, alertmanager: str, tmp_path: Path) -> None:
    configure(tmp_path, "http://127.0.0.1:9/am")
    _, text = await said("doctor", "-o", "json")
    assert check(text)["is_amiss"]
    assert "Alertmanager at http://127.0.0.1:9/am cannot be reached" in check(text)["found"]
    code, text = await said("triage", "-o", "json")
    assert code == 3 and "alerts-unread" in [item["finding"] for item in tree(text)["items"]]


async def test_without_the_setting_nothing_is_read(said: Any) -> None:
    _, text = await said("doctor", "-o", "json")
    assert check(text)["found"] == "not read: alertmanager-url is not set"
