"""The short way: some hundred requests that nobody means well with, and a cluster that bears them."""

import gzip
import socket
from pathlib import Path

from tests.fuzz.drive import fuzz, wrong_with
from tests.fuzz.grammar import Grammar
from tests.fuzz.sent import Resource, Sent
from tests.fuzz.wire import Answer, read_answer

REQUESTS = 500
PODS = Resource("/api/v1", "pods", "Pod", namespaced=True)


def test_a_cluster_with_a_gibibyte_bears_them(tmp_path: Path) -> None:
    outcome = fuzz(tmp_path, 1, REQUESTS)
    assert outcome.findings == []
    answers = outcome.statuses
    assert sum(answers.values()) == REQUESTS
    # they come as far as the storage, and are refused for many reasons
    assert {200, 201, 400, 403, 404, 413, 415, 422} <= answers.keys()


def test_one_seed_draws_the_same_requests() -> None:
    known = {PODS: [{"kind": "Pod", "metadata": {"name": "a", "namespace": "default"}, "spec": {"x": [1]}}]}
    first, second, other = Grammar(1, known), Grammar(1, known), Grammar(2, known)
    drawn = [str(first.next()) for _ in range(200)]
    assert drawn == [str(second.next()) for _ in range(200)]
    assert drawn != [str(other.next()) for _ in range(200)]


def test_what_must_not_be_answered_is_seen() -> None:
    sent = Sent("GET", "/api/v1/pods", [])
    json = "application/json"
    assert wrong_with(sent, Answer(500, json, b'{"message":"Internal error occurred: KeyError()"}'))
    assert wrong_with(sent, Answer(500, "text/plain", b"500 Internal Server Error"))
    assert wrong_with(sent, Answer(200, json, b'{"kind":'))
    assert wrong_with(sent, Answer(422, json, b'{"kind":"Pod"}'))
    assert not wrong_with(sent, Answer(404, json, b'{"kind":"Status","code":404,"message":"no"}'))
    assert not wrong_with(sent, Answer(200, json, b'{"kind":"PodList","items":[]}'))


def test_a_packed_answer_is_read() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        packed = gzip.compress(b'{"kind":"EventList"}', mtime=0)
        head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n"
        theirs.sendall(head.encode() + packed)
        assert read_answer(ours, "GET").body == b'{"kind":"EventList"}'
