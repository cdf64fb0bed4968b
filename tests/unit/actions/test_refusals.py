"""The table of refusals, by its data; and whatever the sentences are, the cockpit does the same."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from cockpit.actions.refusals import explain, recreated
from cockpit.errors import Answered, NotTried, Refused
from cockpit.model.refusal import By, ObjectRef, Refusal, Remedy, StatusCause
from cockpit.model.right import Right
from tests.unit.actions.builders import missing, refused

MPIJOB = "/apis/kubeflow.org/v2beta1/namespaces/team-a/mpijobs/llm"
MPIJOBS = MPIJOB.removesuffix("/llm")
LLM = ObjectRef("mpijobs", "llm", "kubeflow.org", "team-a")
TRAITS = ("is_taken", "is_changed", "is_recreated", "is_gone", "is_namespace_missing")


class Case(NamedTuple):
    """A Status, and what has to be known of it."""

    name: str
    error: Answered
    remedy: Remedy
    words: str
    trait: str = ""  # the one that holds
    facts: Mapping[str, Any] = MappingProxyType({})


CASES = (
    Case(
        "the name is taken",
        refused(409, "AlreadyExists", 'mpijobs.kubeflow.org "llm" already exists', path=MPIJOBS),
        Remedy.OTHER_NAME,
        "m already exists: choose another name, or kill that one first",
        "is_taken",
    ),
    Case(
        "an old version in a patch",
        refused(
            409,
            "Conflict",
            'Operation cannot be fulfilled on mpijobs "llm": the object has been modified; please apply',
            path=MPIJOB,
        ),
        Remedy.REFRESH,
        "m was modified in the meantime; refresh and retry",
        "is_changed",
    ),
    Case(
        "an old version in a delete",
        refused(
            409,
            "Conflict",
            "the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (2)."
            " The object might have been modified",
            path=MPIJOB,
        ),
        Remedy.REFRESH,
        "m was modified in the meantime; refresh and retry",
        "is_changed",
    ),
    Case(
        "a conflict without a word",
        refused(409, "", "", path=MPIJOB),
        Remedy.REFRESH,
        "m was modified in the meantime; refresh and retry",
        "is_changed",
    ),
    Case(
        "a field of another manager",
        refused(
            409,
            "Conflict",
            "Apply failed",
            path=MPIJOB,
            causes=(StatusCause(".a", "x", "FieldManagerConflict"),),
        ),
        Remedy.NONE,
        "m: the cluster refused: Apply failed",
    ),
    Case(
        "another uid, told by the storage",
        refused(
            409,
            "Conflict",
            "Precondition failed: UID in precondition: a, UID in object meta: b",
            path=MPIJOB,
        ),
        Remedy.REFRESH,
        "m was deleted and recreated; refresh and retry",
        "is_recreated",
        {"by": By.UID},
    ),
    Case(
        "another uid, told by the registry",
        refused(
            409,
            "Conflict",
            "the UID in the precondition (a) does not match the UID in record (b). The object might have been"
            " deleted and then recreated",
            path=MPIJOB,
        ),
        Remedy.REFRESH,
        "m was deleted and recreated; refresh and retry",
        "is_recreated",
        {"by": By.UID},
    ),
    Case(
        "another uid in a patch",
        refused(
            422,
            "Invalid",
            'MPIJob "llm" is invalid: metadata.uid: Invalid value',
            path=MPIJOB,
            causes=(StatusCause("metadata.uid", "field is immutable", "FieldValueInvalid"),),
        ),
        Remedy.REFRESH,
        "m was deleted and recreated; refresh and retry",
        "is_recreated",
        {"by": By.UID},
    ),
    Case(
        "a webhook denies",
        refused(403, "Forbidden", 'admission webhook "v.kb.io" denied the request: no such queue'),
        Remedy.NONE,
        "m was denied by admission webhook v.kb.io: no such queue",
        facts={"by": By.WEBHOOK, "name": "v.kb.io", "why": "no such queue"},
    ),
    Case(
        "a webhook denies without a word",
        refused(400, "", 'admission webhook "v.kb.io" denied the request without explanation'),
        Remedy.NONE,
        "m was denied by admission webhook v.kb.io: no reason given",
        facts={"by": By.WEBHOOK, "name": "v.kb.io", "why": ""},
    ),
    Case(
        "a webhook answers 409 in the words of the server",
        refused(
            409,
            "Conflict",
            'admission webhook "v" denied the request: the object has been modified: UID in precondition',
        ),
        Remedy.NONE,
        "m was denied by admission webhook v: the object has been modified: UID in precondition",
        facts={"by": By.WEBHOOK, "name": "v"},
    ),
    Case(
        "a webhook answers 404",
        refused(
            404,
            "NotFound",
            'admission webhook "v" denied the request: gone',
            about="mpijobs",
            name="llm",
            path=MPIJOB,
        ),
        Remedy.NONE,
        "m was denied by admission webhook v: gone",
        facts={"by": By.WEBHOOK},
    ),
    Case(
        "a webhook is down",
        refused(
            500,
            "InternalError",
            'Internal error occurred: failed calling webhook "mjob.kb.io": Post "https://x"',
        ),
        Remedy.NONE,
        'm: admission webhook mjob.kb.io does not answer: Post "https://x"',
        facts={"by": By.WEBHOOK_DOWN, "name": "mjob.kb.io"},
    ),
    Case(
        "a webhook keeps the server from dry runs",
        refused(400, "BadRequest", 'admission webhook "v.io" does not support dry run', error=NotTried),
        Remedy.NONE,
        "m: admission webhook v.io does not support dry run",
        facts={"by": By.WEBHOOK_DRY_RUN, "name": "v.io"},
    ),
    Case(
        "a policy denies",
        refused(
            422,
            "Invalid",
            "mpijobs 'x' is forbidden: ValidatingAdmissionPolicy 'no-latest' with b denied request: no",
        ),
        Remedy.NONE,
        "m was denied by admission policy no-latest: no",
        facts={"by": By.POLICY, "name": "no-latest", "why": "no"},
    ),
    Case(
        "the quota is used up",
        refused(
            403,
            "Forbidden",
            'pods "x" is forbidden: exceeded quota: gpus, requested: nvidia.com/gpu=8, used: 8',
        ),
        Remedy.NONE,
        "m exceeds the quota of its namespace: gpus, requested: nvidia.com/gpu=8, used: 8",
        facts={"by": By.QUOTA, "name": "gpus"},
    ),
    Case(
        "a right is missing",
        refused(
            403,
            "Forbidden",
            'pods "p" is forbidden: User "bob" cannot create resource "pods/exec" in API group "" in the'
            ' namespace "team-a"',
        ),
        Remedy.ASK_FOR_RIGHT,
        "m: you cannot create pods/exec in team-a; ask for that right (pods",
        facts={"by": By.RIGHTS, "right": Right("create", "", "pods", "exec", "team-a")},
    ),
    Case(
        "a right is missing for a custom kind of the whole cluster",
        refused(
            403,
            "Forbidden",
            'q is forbidden: User "bob" cannot patch resource "queues" in API group "x.io"'
            " at the cluster scope",
        ),
        Remedy.ASK_FOR_RIGHT,
        "m: you cannot patch queues.x.io; ask for that right (q is",
        facts={"by": By.RIGHTS, "right": Right("patch", "x.io", "queues")},
    ),
    Case(
        "the words of a missing right with another status",
        refused(422, "Invalid", 'a: User "bob" cannot patch resource "queues"'),
        Remedy.NONE,
        'm: the cluster refused: a: User "bob" cannot patch resource "queues"',
    ),
    Case(
        "the namespace is not there",
        missing("namespaces", "nowhere", "/apis/batch/v1/namespaces/nowhere/jobs"),
        Remedy.OTHER_NAMESPACE,
        "m: namespace nowhere does not exist; choose another namespace",
        "is_namespace_missing",
        {"subject": ObjectRef("namespaces", "nowhere")},
    ),
    Case(
        "a namespace itself is gone",
        missing("namespaces", "team-a", "/api/v1/namespaces/team-a"),
        Remedy.REFRESH,
        "m is already gone; refresh and retry",
        "is_gone",
    ),
    Case(
        "the object is gone",
        missing("mpijobs", "llm", MPIJOB),
        Remedy.REFRESH,
        "m is already gone; refresh and retry",
        "is_gone",
        {"subject": ObjectRef("mpijobs", "llm"), "asked": LLM},
    ),
    Case(
        "the kind is not served",
        refused(404, "NotFound", "the server could not find the requested resource", path=MPIJOB),
        Remedy.NONE,
        "m: the cluster refused: the server could not find the requested resource",
    ),
    Case(
        "the namespace is being deleted",
        refused(
            403,
            "Forbidden",
            "unable to create new content",
            path=MPIJOBS,
            causes=(StatusCause("metadata.namespace", "", "NamespaceTerminating"),),
        ),
        Remedy.OTHER_NAMESPACE,
        "m: namespace team-a is being deleted; choose another namespace",
    ),
    Case(
        "a budget",
        refused(
            429,
            "TooManyRequests",
            "Cannot evict pod",
            causes=(StatusCause("", "needs 1", "DisruptionBudget"),),
        ),
        Remedy.LATER,
        "m: blocked by a PodDisruptionBudget; try again later (Cannot evict pod)",
    ),
    Case(
        "throttled",
        refused(429, "TooManyRequests", "too many requests", retry_after_seconds=9),
        Remedy.LATER,
        "m: throttled; try again in 9 s (too many requests)",
        facts={"retry_after_seconds": 9},
    ),
    Case(
        "credentials",
        refused(401, "Unauthorized", "Unauthorized"),
        Remedy.LOG_IN,
        "m: the server rejected the credentials (401); log in again",
    ),
    Case("long", refused(422, "Invalid", "x" * 900), Remedy.NONE, "m: the cluster refused: xxx"),
    Case(
        "two lines",
        refused(422, "Invalid", "two\nlines  here"),
        Remedy.NONE,
        "m: the cluster refused: two lines here",
    ),
    Case("the cockpit itself refuses", Refused("Read-only: not sent"), Remedy.NONE, "m: Read-only: not sent"),
)


@pytest.mark.parametrize("case", CASES, ids=[one.name for one in CASES])
def test_a_refusal_is_known_by_its_data(case: Case) -> None:
    said = case.error.said
    assert [one for one in TRAITS if getattr(said, one)] == ([case.trait] if case.trait else [])
    facts = {"by": By.SERVER, **case.facts}
    assert {name: getattr(said, name) for name in facts} == facts


@pytest.mark.parametrize("case", CASES, ids=[one.name for one in CASES])
def test_a_refusal_becomes_one_sentence(case: Case) -> None:
    sentence = explain("m", case.error)
    assert sentence.startswith(case.words)
    assert "\n" not in sentence and len(sentence) <= 300
    assert case.remedy is Remedy.LATER or case.remedy.value in sentence


def test_an_object_that_was_recreated_is_a_refusal_with_its_data() -> None:
    error = recreated("pod team-a/p")
    assert (
        error.said.is_recreated
        and error.sentence == "pod team-a/p was deleted and recreated; refresh and retry"
    )
    assert Refused("no").said == Refusal()
