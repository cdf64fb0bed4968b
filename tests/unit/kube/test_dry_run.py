"""A rehearsal never changes anything: a delete with a body takes its options from the body alone."""

import json
from typing import Any

import pytest

from cockpit.kube.answer import ApiAnswer
from cockpit.kube.calls import perform
from cockpit.kube.guard import refusal
from cockpit.model.plan import Call

POD = "/api/v1/namespaces/team-a/pods/p"
DRY = (("dryRun", "All"),)


class Wire:
    """Remembers what a session is asked to send."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, tuple[tuple[str, str], ...], Any]] = []

    async def request(self, method: str, path: str, *, query: Any, body: Any, content_type: str) -> ApiAnswer:
        del path, content_type
        self.sent.append((method, query, body))
        return ApiAnswer(200, "application/json", b'{"kind": "Status", "status": "Success"}')


@pytest.mark.parametrize(
    ("body", "may"),
    [
        (None, True),
        ({}, False),
        ({"preconditions": {"uid": "u"}}, False),
        ({"dryRun": []}, False),
        ({"dryRun": "All"}, False),
        ({"dryRun": ["All", "None"]}, False),
        ({"dryRun": ["All"], "preconditions": {"uid": "u"}}, True),
        ([{"dryRun": ["All"]}], False),
    ],
)
def test_read_only_lets_a_delete_pass_only_when_its_body_is_dry_too(body: Any, may: bool) -> None:
    sent = None if body is None else json.dumps(body).encode()
    assert (refusal("DELETE", POD, DRY, read_only=True, body=sent) == "") == may
    assert refusal("DELETE", POD, (), read_only=True, body=sent)
    assert refusal("DELETE", POD, DRY, read_only=False, body=sent) == ""


def test_a_body_that_is_not_json_is_not_dry() -> None:
    assert refusal("DELETE", POD, DRY, read_only=True, body=b"\xff{")


def test_other_writes_take_their_options_from_the_query() -> None:
    assert refusal("PATCH", POD, DRY, read_only=True, body=b'{"spec":{}}') == ""


async def test_a_rehearsed_delete_says_so_in_query_and_body_and_the_plan_stays() -> None:
    wire = Wire()
    call = Call(method="DELETE", path=POD, body={"preconditions": {"uid": "u"}})
    await perform(wire, call, dry_run=True)  # type: ignore[arg-type]
    await perform(wire, call)  # type: ignore[arg-type]
    assert wire.sent == [
        ("DELETE", DRY, {"preconditions": {"uid": "u"}, "dryRun": ["All"]}),
        ("DELETE", (), {"preconditions": {"uid": "u"}}),
    ]


async def test_a_rehearsed_delete_without_a_body_says_so_in_the_query() -> None:
    wire = Wire()
    await perform(wire, Call(method="DELETE", path=POD), dry_run=True)  # type: ignore[arg-type]
    assert wire.sent == [("DELETE", DRY, None)]
