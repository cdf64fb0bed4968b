"""Calls, access reviews, single objects: what is sent and what a refusal says."""

import json
import re
from typing import Any

import pytest
from aiohttp import web

from cockpit.errors import BadInput, NoConnection, NotTried, OutcomeUnknown, Refused
from cockpit.kube.access import can
from cockpit.kube.calls import perform
from cockpit.kube.objects import get_object
from cockpit.kube.resource import JOBS, MPIJOBS, NODES, PODS, Resource
from cockpit.kube.session import ApiSession
from cockpit.mask import HIDDEN
from cockpit.model.plan import Call
from cockpit.model.refusal import By, ObjectRef, Refusal, StatusCause
from tests.unit.kube.builders import FakeServer, meta, refuse, reply, status

PATH = "/apis/kubeflow.org/v2beta1/namespaces/team-a/mpijobs/hvd"
PATCH = Call(
    method="PATCH",
    path=PATH,
    body={"spec": {}},
    content_type="application/merge-patch+json",
    target="mpijob team-a/hvd",
)
DELETE = Call(method="DELETE", path=PATH, body={"preconditions": {"uid": "u"}}, target="mpijob team-a/hvd")


# ---- resources


@pytest.mark.parametrize(
    ("resource", "arguments", "path"),
    [
        (PODS, (), "/api/v1/pods"),
        (PODS, ("team-a",), "/api/v1/namespaces/team-a/pods"),
        (PODS, ("team-a", "p", "log"), "/api/v1/namespaces/team-a/pods/p/log"),
        (NODES, ("ignored", "n1"), "/api/v1/nodes/n1"),
        (JOBS, ("a", "j"), "/apis/batch/v1/namespaces/a/jobs/j"),
        (MPIJOBS, (), "/apis/kubeflow.org/v2beta1/mpijobs"),
    ],
)
def test_paths(resource: Resource, arguments: tuple[str, ...], path: str) -> None:
    assert resource.path(*arguments) == path


@pytest.mark.parametrize("name", ["a/b", "..", ".", "a b", "a%2fb", "a?b", "a#b", "a\nb", "ä", "a;b", "a\\b"])
def test_names_that_are_no_segment(name: str) -> None:
    with pytest.raises(BadInput, match="not a name that Kubernetes accepts"):
        PODS.path("team-a", name)
    with pytest.raises(BadInput):
        PODS.path(name, "p")


def test_labels_for_sentences() -> None:
    assert (PODS.label, MPIJOBS.label) == ("pods", "mpijobs.kubeflow.org")
    assert (PODS.api_version, MPIJOBS.api_version) == ("v1", "kubeflow.org/v2beta1")


# ---- calls


async def test_a_call_is_sent_as_it_is(server: FakeServer, session: ApiSession) -> None:
    server.on(PATH, reply({"kind": "MPIJob"}))
    session.unlock()
    answer = await perform(session, PATCH)
    assert answer.json() == {"kind": "MPIJob"}
    seen = server.seen[-1]
    assert (seen.method, json.loads(seen.body)) == ("PATCH", {"spec": {}})
    assert seen.headers["Content-Type"] == "application/merge-patch+json"
    assert seen.query == {"fieldValidation": "Strict"}


async def test_a_rehearsal_is_a_server_dry_run_and_needs_no_unlocking(
    server: FakeServer, session: ApiSession
) -> None:
    server.on(PATH, reply({}))
    await perform(session, DELETE, dry_run=True)
    assert server.seen[-1].query == {"dryRun": "All"}
    assert json.loads(server.seen[-1].body) == {"preconditions": {"uid": "u"}, "dryRun": ["All"]}
    with pytest.raises(Refused, match="Read-only"):
        await perform(session, DELETE)
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("code", "said", "error"),
    [
        (400, 'admission webhook "v.kb.io" does not support dry run', NotTried),
        (429, "too many requests", NotTried),
        (500, 'failed calling webhook "v.kb.io": connection refused', Refused),
        (400, "strict decoding error: unknown field", Refused),
        (403, "jobs is forbidden", Refused),
        (422, "field is immutable", Refused),
    ],
)
async def test_a_dry_run_that_was_not_made_is_no_refusal(
    server: FakeServer, session: ApiSession, code: int, said: str, error: type[Exception]
) -> None:
    server.on(PATH, reply(status(code, "", said), code))
    with pytest.raises(error, match=re.escape(said)) as caught:
        await perform(session, PATCH, dry_run=True)
    assert type(caught.value) is error
    session.unlock()
    with pytest.raises(Refused, match=re.escape(said)):
        await perform(session, PATCH)


@pytest.mark.parametrize(
    ("call", "code", "reason"),
    [
        (PATCH, 403, "Forbidden"),
        (PATCH, 422, "Invalid"),
        (DELETE, 404, "NotFound"),
        (DELETE, 409, "Conflict"),
        (PATCH, 401, "Unauthorized"),
        (DELETE, 429, "TooManyRequests"),
        (Call(method="POST", path=PATH, body={}), 409, "AlreadyExists"),
    ],
)
async def test_a_refusal_is_what_the_status_says(
    server: FakeServer, session: ApiSession, call: Call, code: int, *, reason: str
) -> None:
    cause = {"field": "spec.a", "message": "is\nodd", "reason": "FieldValueInvalid"}
    details = {"name": "hvd", "kind": "mpijobs", "group": "kubeflow.org", "causes": [cause]}
    told = status(code, reason, "said the\n\x1b[1mserver", retryAfterSeconds=9, **details)
    server.on(PATH, reply(told, code))
    session.unlock()
    with pytest.raises(Refused) as caught:
        await perform(session, call)
    assert caught.value.said == Refusal(
        status=code,
        reason=reason,
        message="said the [1mserver",
        causes=(StatusCause("spec.a", "is odd", "FieldValueInvalid"),),
        asked=ObjectRef("mpijobs", "hvd", "kubeflow.org", "team-a"),
        subject=ObjectRef("mpijobs", "hvd", "kubeflow.org"),
        retry_after_seconds=9,
    )
    assert caught.value.exit_code == 1
    assert server.count(PATH) == (1 if code != 401 else server.count(PATH))


_TEXT = "text/plain"
_MANY = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


@pytest.mark.parametrize("call", [PATCH, DELETE, Call(method="POST", path=PATH, body={})])
@pytest.mark.parametrize(
    ("answer", "is_over"),
    [
        (reply(status(500, "InternalError", "etcdserver: request timed out"), 500), True),
        (reply(status(503, "ServiceUnavailable", "error trying to reach service"), 503), False),
        (reply(status(504, "Timeout", "timed out"), 504), False),
        (reply("<html>Bad Gateway</html>", 502, "text/html"), False),
        (reply("<html>Forbidden</html>", 403, "text/html"), False),
        (reply("<html>Not Found</html>", 404, "text/html"), False),
        (reply("slow down", 429, _TEXT), False),
        (reply("request timeout", 408, _TEXT), False),
        (reply(status(408, "Timeout", "timed out"), 408), False),
        (reply("", 499, _TEXT), False),
        (reply("<html>Sign in</html>", 200, "text/html"), False),
        (reply({"code": 404, "message": "no route"}, 404), False),
        (reply({"error": "upstream"}, 200), False),
        (reply(status(500, "", "odd"), 200), True),
        (reply("", 302, _TEXT), False),
    ],
)
async def test_an_answer_that_proves_nothing_is_no_refusal_of_a_write(
    server: FakeServer, session: ApiSession, call: Call, answer: Any, *, is_over: bool
) -> None:
    server.on(PATH, answer)
    session.unlock()
    with pytest.raises(OutcomeUnknown) as caught:
        await perform(session, call)
    assert (caught.value.is_over, caught.value.is_unsent) == (is_over, False)
    assert server.count(PATH) == 1
    with pytest.raises(NotTried):
        await perform(session, call, dry_run=True)


@pytest.mark.parametrize(
    ("answer", "by"),
    [
        (reply("Too many requests, please try again later.", 429, _TEXT, Retry_After="1"), By.SERVER),
        (reply(status(500, "InternalError", 'failed calling webhook "v.io": refused'), 500), By.WEBHOOK_DOWN),
        (reply(status(500, "InternalError", _MANY), 500), By.BUDGETS),
    ],
)
async def test_what_is_refused_before_it_is_begun_is_a_refusal(
    server: FakeServer, session: ApiSession, answer: Any, by: By
) -> None:
    server.on(PATH, answer)
    session.unlock()
    with pytest.raises(Refused) as caught:
        await perform(session, PATCH)
    assert caught.value.said.by is by


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_a_write_is_never_repeated(server: FakeServer, session: ApiSession, method: str) -> None:
    """No answer came: nobody knows whether it was done."""
    calls = 0

    async def vanish(request: Any) -> Any:
        nonlocal calls
        calls += 1
        request.transport.abort()
        return web.Response()

    server.on(PATH, vanish)
    session.unlock()
    with pytest.raises(NoConnection):
        await perform(session, Call(method=method, path=PATH, body={}))
    assert calls == 1


# ---- access


@pytest.mark.parametrize(
    ("answer", "allowed"),
    [
        ({"allowed": True}, True),
        ({"allowed": False}, False),
        ({"allowed": True, "denied": True}, False),
        ({}, False),
        (None, False),
    ],
)
async def test_access(server: FakeServer, session: ApiSession, answer: Any, *, allowed: bool) -> None:
    server.on("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", reply({"status": answer}, 201))
    assert (
        await can(session, "patch", MPIJOBS, namespace="team-a", name="hvd", subresource="scale") is allowed
    )
    attributes = json.loads(server.seen[-1].body)["spec"]["resourceAttributes"]
    assert attributes == {
        "verb": "patch",
        "group": "kubeflow.org",
        "version": "v2beta1",
        "resource": "mpijobs",
        "namespace": "team-a",
        "name": "hvd",
        "subresource": "scale",
    }


async def test_a_cluster_scoped_question_names_no_namespace(server: FakeServer, session: ApiSession) -> None:
    server.on(
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", reply({"status": {"allowed": True}}, 201)
    )
    await can(session, "list", NODES, namespace="team-a")
    assert "namespace" not in json.loads(server.seen[-1].body)["spec"]["resourceAttributes"]


async def test_an_unanswered_question_is_no_yes(server: FakeServer, session: ApiSession) -> None:
    server.on("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", refuse(403, "Forbidden", "no"))
    with pytest.raises(Refused):
        await can(session, "list", NODES)


# ---- objects


async def test_an_object_to_be_shown(server: FakeServer, session: ApiSession) -> None:
    tree = {
        "kind": "Pod",
        "metadata": meta("p")
        | {
            "managedFields": [{"manager": "x"}],
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "no\x1bte": "a\nb\x07"},
        },
        "spec": {
            "containers": [
                {
                    "env": [
                        {"name": "API_TOKEN", "value": "hunter2"},
                        {"name": "MODE", "value": "fast"},
                        {"name": "DB_PASSWORD"},
                    ]
                }
            ]
        },
    }
    server.on("/api/v1/namespaces/team-a/pods/p", reply(tree))
    shown = await get_object(session, PODS, "team-a", "p")
    assert "managedFields" not in shown["metadata"]
    assert shown["metadata"]["annotations"] == {"note": "a\nb"}
    environment = shown["spec"]["containers"][0]["env"]
    assert [one.get("value") for one in environment] == [HIDDEN, "fast", None]
    assert "hunter2" not in json.dumps(shown)


async def test_secrets_are_not_shown(server: FakeServer, session: ApiSession) -> None:
    secrets = Resource("", "v1", "secrets", "Secret", namespaced=True)
    with pytest.raises(Refused, match="Secrets are never"):
        await get_object(session, secrets, "team-a", "s")
    assert server.seen == []


async def test_reading_a_missing_object_is_refused(server: FakeServer, session: ApiSession) -> None:
    with pytest.raises(Refused, match="pods team-a/p: the server could not find"):
        await get_object(session, PODS, "team-a", "p")
