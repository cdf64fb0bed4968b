"""ResourceSlices over HTTP: which version is asked for, with what token, and what a failure costs."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from cockpit_exporter.slices import MOST_BYTES, SliceWatch

from tests.unit.exporter.fake_kubelet import FakeKubelet
from tests.unit.exporter.standin import Box, Page

SLICE = {
    "spec": {
        "driver": "gpu.nvidia.com",
        "pool": {"name": "node-7", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "gpu-0", "attributes": {"uuid": {"string": "GPU-a"}}}],
    }
}
CARD = ("gpu.nvidia.com", "node-7", "gpu-0")
CLAIM = {
    "status": {
        "allocation": {
            "devices": {
                "results": [
                    {"driver": "gpu.nvidia.com", "pool": "node-7", "device": "gpu-0", "adminAccess": True},
                    {"driver": "gpu.nvidia.com", "pool": "node-7", "device": "gpu-1"},
                ]
            }
        }
    }
}


class FakeServer(ThreadingHTTPServer):
    """Answers by version: a status, or a body."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: dict[str, int | bytes] = {}
        self.asked: list[tuple[str, str, str]] = []


class _Handler(BaseHTTPRequestHandler):
    server: FakeServer

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        version = asked.path.split("/")[3]
        query = parse_qs(asked.query)
        selector = query.get("fieldSelector", [asked.path.partition("/namespaces/")[2]])[0]
        self.server.asked.append((version, selector, self.headers.get("Authorization", "")))
        page = query.get("continue", [selector if "/namespaces/" in asked.path else version])[0]
        answer = self.server.answers.get(page, 404)
        body = answer if isinstance(answer, bytes) else b"{}"
        self.send_response(200 if isinstance(answer, bytes) else answer)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Quiet."""


@pytest.fixture
def server() -> Iterator[FakeServer]:
    made = FakeServer()
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join(30)


@pytest.fixture
def watch(server: FakeServer, tmp_path: Path) -> SliceWatch:
    (tmp_path / "token").write_text("abc\n")
    return SliceWatch("node-7", f"http://127.0.0.1:{server.server_port}", tmp_path)


def test_only_this_nodes_slices_are_asked_for_with_the_pods_token(
    server: FakeServer, watch: SliceWatch, tmp_path: Path
) -> None:
    server.answers["v1"] = json.dumps({"items": [SLICE]}).encode()
    watch.step()
    assert (dict(watch.slices), watch.reason) == ({CARD: "GPU-a"}, "")
    (tmp_path / "token").write_text("renewed")
    watch.step()
    assert server.asked == [
        ("v1", "spec.nodeName=node-7", "Bearer abc"),
        ("v1", "spec.nodeName=node-7", "Bearer renewed"),
    ]


def test_an_older_api_server_is_asked_in_its_own_version(server: FakeServer, watch: SliceWatch) -> None:
    server.answers["v1beta2"] = json.dumps({"items": [SLICE]}).encode()
    watch.step()
    assert dict(watch.slices) == {CARD: "GPU-a"}
    assert [version for version, _, _ in server.asked] == ["v1", "v1beta2"]


def test_the_first_beta_with_its_own_shape_is_read(server: FakeServer, watch: SliceWatch) -> None:
    device = {"name": "gpu-0", "basic": {"attributes": {"uuid": {"string": "GPU-a"}}}}
    server.answers["v1beta1"] = json.dumps(
        {"items": [{"spec": {**SLICE["spec"], "devices": [device]}}]}
    ).encode()
    watch.step()
    assert (dict(watch.slices), watch.reason) == ({CARD: "GPU-a"}, "")
    assert [version for version, _, _ in server.asked] == ["v1", "v1beta2", "v1beta1"]


def test_a_list_in_pages_is_read_to_its_end(server: FakeServer, watch: SliceWatch) -> None:
    other = {**SLICE["spec"], "pool": {"name": "more"}}
    server.answers["v1"] = json.dumps({"metadata": {"continue": "next"}, "items": [SLICE]}).encode()
    server.answers["next"] = json.dumps({"metadata": {}, "items": [{"spec": other}]}).encode()
    watch.step()
    assert dict(watch.slices) == {CARD: "GPU-a", ("gpu.nvidia.com", "more", "gpu-0"): "GPU-a"}


def test_a_claim_in_use_is_read_once_and_tells_what_it_only_looks_at(
    server: FakeServer, tmp_path: Path
) -> None:
    in_use = [("team-a", "all")]
    watch = SliceWatch("node-7", f"http://127.0.0.1:{server.server_port}", tmp_path, lambda: in_use)
    server.answers["v1"] = json.dumps({"items": [SLICE]}).encode()
    watch.step()
    assert (watch.reason, watch.watched) == ("", frozenset())  # it is gone
    server.answers["team-a/resourceclaims/all"] = json.dumps(CLAIM).encode()
    watch.step()
    watch.step()
    assert watch.watched == {("team-a", "all", CARD)}
    claims = [selector for _, selector, _ in server.asked if "resourceclaims" in selector]
    assert claims == ["team-a/resourceclaims/all"] * 2
    in_use.clear()
    watch.step()
    assert watch.watched == frozenset()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (403, "http-403"),
        (500, "http-500"),
        (b"<html>log in</html>", "JSONDecodeError"),
        (b" " * (MOST_BYTES + 1), "ValueError"),
    ],
)
def test_a_failure_is_named_and_keeps_what_was_known(
    server: FakeServer, watch: SliceWatch, answer: int | bytes, reason: str
) -> None:
    server.answers["v1"] = json.dumps({"items": [SLICE]}).encode()
    watch.step()
    server.answers["v1"] = answer
    watch.step()
    assert watch.reason == reason
    assert dict(watch.slices) == {CARD: "GPU-a"}


def test_a_claimed_card_finds_its_pod_through_its_slice(server: FakeServer, box: Box, tmp_path: Path) -> None:
    uuid = "GPU-00000002-1111-2222-3333-444444444444"
    named = {"name": "odd-name", "attributes": {"uuid": {"string": uuid}}}
    listed = {"items": [{"spec": {**SLICE["spec"], "devices": [named]}}]}
    server.answers["v1"] = json.dumps(listed).encode()
    kubelet = FakeKubelet(tmp_path)
    kubelet.claims("team-a/claimed", "odd-name")
    try:
        box.start(pod_resources=str(kubelet.socket), slices_url=f"http://127.0.0.1:{server.server_port}")
        box.step()
        assert Page(box.ask("kubelet")["page"]).value("cockpit_attribution_unmatched") == 1.0
        page = Page(box.ask("slices")["page"])
        assert page.value("cockpit_gpu_power_watts", gpu="2", pod="claimed") == 102.5
    finally:
        kubelet.close()


def test_a_server_that_is_not_there_is_named(tmp_path: Path) -> None:
    watch = SliceWatch("node-7", "http://127.0.0.1:1", tmp_path)
    watch.step()
    assert watch.reason == "URLError"
