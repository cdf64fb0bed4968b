"""Seeded random sequences of requests: both servers answer and tell the same, with all controllers stopped.

What is compared: every answer (status, warnings, body or Status with reason, message, causes and details) and
what a watcher of every kind is told from before the sequence to its end. What is not: `NOT_COMPARED`,
`NOT_COMPARED_FIELDS` in `random_sides`, and what is not drawn, here. `GPU_COCKPIT_SEQUENCES=200` draws all;
`GPU_COCKPIT_SEQUENCE=17` that one alone.
"""

import os
from collections.abc import Iterator

import pytest

from cockpit.sim.server.builtin.table import built_in
from tests.bed.bed import Bed
from tests.differential.random_hearing import NAME
from tests.differential.random_objects import SORTS
from tests.differential.random_sides import NOT_COMPARED, NOT_COMPARED_FIELDS, Pair, begun, compared
from tests.differential.random_writes import Step, sequence
from tests.differential.server.test_write_stories_real import embedded

pytestmark = pytest.mark.real

AT_ONCE = 10
SEEDS = int(os.environ.get("GPU_COCKPIT_SEQUENCES", "40"))
ONLY = os.environ.get("GPU_COCKPIT_SEQUENCE")

NOT_DRAWN = {
    "status of quotas, and what they refuse": "here the server keeps it itself, there a controller "
    "does that is stopped; test_quota_status_real and test_admissions_real compare them with it running",
    "jobs without labels of their own": "the real server writes such a job anew at its first empty change, "
    "because defaults give it the labels of its pods only when it is read",
    "bodies in protobuf of custom kinds": "the real server ends the connection",
    "pages of nodes": "they have no namespace, so other sequences stand on the next page",
    "deleting collections with drawn names": "the order is that of the names",
    "status of services, by PUT or apply, where there is none": "the real server creates a service by it",
    "an event in two groups": "managed fields are lost on the way between the versions",
    "headless services, and those of type ExternalName": "their families, warnings and owners of fields",
    "hostNetwork with other host ports, limits of unknown resources, wrong spread constraints": "rules "
    "of values of pods that are not modelled",
    "scopes of quotas, data that is not base64 by apply, owners without a name": "rules, not modelled",
    "limit ranges without a name, nulls in applied custom objects, places of events.k8s.io": "not modelled",
    "lists as sets with doubles": "their order beside doubles of maps is chance",
    "scaling from nought to nought": "the real server writes a version in which nothing is new",
    "an eviction with a wrong policy": "the real server has marked the pod by then",
}
"""What the sequences leave out, and why."""

_STORY = "test_write_stories_real tells of them, value by value"
_ROLES = "belongs to the whole cluster or to rights that others need; test_rights_real asks all its rules"
KINDS_NOT_DRAWN = {
    "namespaces": f"each sequence has one as its frame, and their end is a controller's work; {_STORY}",
    "secrets": _STORY,
    "serviceaccounts": _STORY,
    "persistentvolumeclaims": "binding is a controller's work; test_quota_status_real and "
    "test_scheduler_words_real make them on both servers",
    "persistentvolumes": "as their claims, and without a namespace: other sequences would see them",
    "replicasets": f"their spec is that of Deployments, which are drawn; {_STORY}",
    "daemonsets": f"their spec is that of Deployments, which are drawn; {_STORY}",
    "controllerrevisions": "written by the controller of DaemonSets alone: test_node_words_real",
    "priorityclasses": f"have no namespace, and one of them changes what becomes of every new pod; {_STORY}",
    "storageclasses": "have no namespace; test_scheduler_words_real makes them on both servers",
    "endpointslices": "served for lists and watches that find nothing; here nobody writes one",
    "statefulsets": f"their spec is that of Deployments, which are drawn; {_STORY}, and "
    "test_controller_words_real what becomes of them",
    "resourceclaims": f"devices are a driver's work; {_STORY}, test_controller_words_real who makes them",
    "resourceclaimtemplates": f"as the claims that are made from them; {_STORY}",
    **dict.fromkeys(
        (
            "csidrivers",
            "csinodes",
            "csistoragecapacities",
            "volumeattachments",
            "deviceclasses",
            "resourceslices",
            "replicationcontrollers",
        ),
        "stored and listed, and nothing acts on them; test_schemas_real has their types",
    ),
    "roles": _ROLES,
    "rolebindings": _ROLES,
    "clusterroles": _ROLES,
    "clusterrolebindings": _ROLES,
    "customresourcedefinitions": "have no namespace; test_definitions_real plays their names and their end, "
    "test_schemas_real what their schemas say",
}
"""Kinds of the embedded server that no sequence is made of. Reviews are questions, and never stored."""

PATHS_NOT_DRAWN = {
    "pods/log, exec, attach, portforward, proxy": "need a kubelet: contract suite",
    "nodes/proxy, services/proxy": "need a kubelet: contract suite",
    "pods/resize and ephemeralcontainers, serviceaccounts/token": "not served: 404",
    "namespaces/finalize, namespaces/status": "a controller's; the frame of every sequence",
    "customresourcedefinitions/status": "kube-apiserver's own",
    "lists as tables, discovery, OpenAPI": "contract suite, and test_kubectl_real in kubectl's eyes",
    "410 after compaction": "the two servers compact at other times; contract suite by the fault layer",
    "two writers of one object at once": "who comes first is chance; contract suite asks for one conflict",
}
"""Paths that no sequence asks, and where they are compared instead."""


@pytest.fixture(scope="module")
def pair(bed_apiserver: Bed) -> Iterator[Pair]:
    """The real server and the embedded one, both without controllers."""
    with embedded(has_quotas=False) as api:
        pair = Pair(bed_apiserver.api(), api)
        yield pair
        pair.remove()


def _told(seed: int, pair: Pair, steps: list[Step], first: list[str]) -> str:
    """The smallest sequence that differs; how the whole one did where it does not a second time."""
    kept, lines = pair.smallest(steps)
    shown = "\n".join(f"    {step}" for step in kept)
    how = lines or ["not when played again; the first time:", *first]
    return f"seed {seed}, the smallest sequence that differs:\n{shown}\n" + "\n".join(how)


@pytest.mark.parametrize("first", range(0, SEEDS, AT_ONCE))
def test_sequences_are_answered_and_told_alike(pair: Pair, first: int) -> None:
    seeds = [int(ONLY)] if ONLY else list(range(first, min(first + AT_ONCE, SEEDS)))
    sequences = [sequence(seed) for seed in seeds]
    found = [
        _told(seed, pair, steps, lines)
        for seed, steps, lines in zip(seeds, sequences, pair.differences(sequences), strict=True)
        if lines
    ]
    assert not found, "\n\n".join(found)


def test_what_the_server_tells_of_addresses_is_no_difference_on_pages_or_in_watches(pair: Pair) -> None:
    """The real server's repair may write an Event into any namespace that has a service: here it did."""
    event = {"apiVersion": "v1", "kind": "Event", "involvedObject": {"kind": "Pod", "namespace": "NS"}}
    steps: list[Step] = [
        ("POST", "C/events", {**event, "metadata": {"name": "z"}}, {}),
        ("GET", "C/events", None, {}),
        ("GET", "C/events", None, {"query": {"limit": "1"}, "pages": True}),
        ("GET", "C/events", None, {"query": {"watch": "1", "timeoutSeconds": "1"}}),
        ("PATCH", "C/events/z", {"count": 2}, {"type": "application/merge-patch+json"}),
        ("GET", "C/events/z", None, {}),
    ]
    real, mine = (begun(api, "addresses") for api in pair.apis)
    repair = {"metadata": {"name": "a"}, "reportingComponent": "ipallocator-repair-controller"}
    told = {**event, **repair, "involvedObject": {"kind": "Service", "namespace": "addresses"}}
    real.api.create("/api/v1/namespaces/addresses/events", told)
    for side in (real, mine):
        side.run(steps)
    pair.hear([real], [mine])
    assert compared(mine, real, steps) == []
    assert len(mine.answers[2]) == 1 and len(mine.told["C/events"]) == 2


def test_no_node_of_a_sequence_stays_for_whoever_lists_all(pair: Pair) -> None:
    held = {"metadata": {"name": "n1-NS", "finalizers": ["random.test/hold"]}}
    steps: list[Step] = [
        ("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", **held}, {}),
        ("DELETE", "/api/v1/nodes/n1-NS", None, {}),
        ("POST", "/api/v1/nodes", {"metadata": {"name": "n2-NS"}, "spec": {"unschedulable": True}}, {}),
    ]
    assert pair.differences([steps]) == [[]]
    for api in pair.apis:
        assert [one["metadata"]["name"] for one in api.items("/api/v1/nodes")] == [NAME]


def test_a_sequence_is_the_same_every_time() -> None:
    assert [sequence(seed) for seed in range(5)] == [sequence(seed) for seed in range(5)]


def test_every_kind_and_verb_is_drawn() -> None:
    steps = [step for seed in range(40) for step in sequence(seed)]
    assert {method for method, *_ in steps} == {"GET", "POST", "PUT", "PATCH", "DELETE"}
    assert all(any(path.startswith(sort.path) for _, path, *_ in steps) for sort in SORTS)
    assert {more.get("type", "").partition("/")[2] for _, _, _, more in steps} >= {
        "merge-patch+json",
        "strategic-merge-patch+json",
        "json-patch+json",
        "apply-patch+yaml",
    }


def test_what_is_left_out_says_why() -> None:
    assert all(why for _, _, why in NOT_COMPARED)
    assert all(NOT_COMPARED_FIELDS.values())
    assert all(NOT_DRAWN.values())
    assert all(PATHS_NOT_DRAWN.values())


def test_each_kind_that_is_served_is_drawn_or_has_a_reason() -> None:
    drawn = {sort.path.rpartition("/")[2] for sort in SORTS}
    served = {kind.resource.plural for kind in built_in()}
    assert KINDS_NOT_DRAWN.keys() == served - drawn
    assert all(KINDS_NOT_DRAWN.values())
