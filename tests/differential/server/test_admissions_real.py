"""The same writes put to kube-apiserver: what is refused and how, and what is filled in."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from cockpit.kube.resource import NAMESPACES, PODS, Resource
from cockpit.sim.port import PortError, Tree
from cockpit.sim.resources import (
    PRIORITY_CLASSES,
)
from cockpit.sim.server.admission import admissions
from cockpit.sim.server.request import Request
from cockpit.sim.server.storage import Storage, key_of
from tests.bed.api import Api
from tests.bed.bed import Bed

pytestmark = pytest.mark.real

SPACE = "adm-plain"
CLASSES = [
    {"metadata": {"name": "adm-high"}, "value": 1000},
    {"metadata": {"name": "adm-never"}, "value": 5, "preemptionPolicy": "Never"},
]


def pod(*containers: Tree, name: str = "p", **spec: Any) -> Tree:
    named = [{"name": f"c{n}", "image": "i", **one} for n, one in enumerate(containers or ({},))]
    return {"metadata": {"name": name}, "spec": {"containers": named, **spec}}


WRITES: dict[str, tuple[str, Resource, Tree]] = {
    "plain": (SPACE, PODS, pod()),
    "class": (SPACE, PODS, pod(priorityClassName="adm-high")),
    "class that never preempts": (SPACE, PODS, pod(priorityClassName="adm-never")),
    "no such class": (SPACE, PODS, pod(priorityClassName="nix")),
    "system class": (SPACE, PODS, pod(priorityClassName="system-node-critical")),
    "priority given": (SPACE, PODS, pod(priorityClassName="adm-high", priority=7)),
    "policy given": (
        SPACE,
        PODS,
        pod(priorityClassName="adm-never", preemptionPolicy="PreemptLowerPriority"),
    ),
    "generated name": (
        SPACE,
        PODS,
        {**pod(priorityClassName="nix"), "metadata": {"generateName": "g-"}},
    ),
    "tolerations given": (
        SPACE,
        PODS,
        pod(
            tolerations=[{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}]
        ),
    ),
    "tolerates all": (SPACE, PODS, pod(tolerations=[{"operator": "Exists"}])),
    "second default class": (
        "",
        PRIORITY_CLASSES,
        {"metadata": {"name": "adm-other"}, "value": 1, "globalDefault": True},
    ),
}


@pytest.fixture(scope="module")
def admin(bed_apiserver: Bed) -> Iterator[Api]:
    api = bed_apiserver.api()
    api.create("/api/v1/namespaces", {"metadata": {"name": SPACE}})
    for tree in CLASSES:
        api.create("/apis/scheduling.k8s.io/v1/priorityclasses", tree)
    yield api
    api.delete(f"/api/v1/namespaces/{SPACE}")
    for tree in CLASSES:
        api.delete(f"/apis/scheduling.k8s.io/v1/priorityclasses/{tree['metadata']['name']}")  # type: ignore[index]


@pytest.fixture(scope="module")
def storage(admin: Api) -> Storage:
    """The real server's own objects."""
    storage = Storage()
    for resource in (NAMESPACES, PRIORITY_CLASSES):
        for tree in admin.items(resource.path()):
            metadata = tree["metadata"]
            storage.put(resource, key_of(metadata.get("namespace", ""), metadata["name"]), tree)
    return storage


@pytest.mark.parametrize("case", WRITES)
def test_a_write(admin: Api, storage: Storage, case: str) -> None:
    if case == "second default class":
        admin.create(
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            {"metadata": {"name": "adm-default"}, "value": 3, "globalDefault": True},
        )
    try:
        _compare(admin, storage, case)
    finally:
        if case == "second default class":
            admin.delete("/apis/scheduling.k8s.io/v1/priorityclasses/adm-default")


def _compare(admin: Api, storage: Storage, case: str) -> None:
    space, resource, tree = WRITES[case]
    given = json.dumps(tree)
    reply = admin.request("POST", resource.path(space), tree, query=(("dryRun", "All"),))
    status, body = reply.status, reply.json()
    if case == "second default class":
        path = f"{resource.path()}/adm-default"
        storage.put(resource, "adm-default", admin.get(path))
    request = Request(resource=resource, namespace=space, verb="create")
    try:
        mine = tree
        for admission in admissions(storage, with_accounts=False):
            mine = admission(request, mine, None)
    except PortError as error:
        message = body.get("message", "")
        if "generated" in case:
            # The real server has made up the whole name by then.
            message = message.replace(message.split('"')[1], "g-", 1)
        assert (error.status, error.message) == (status, message)
        return
    assert status == 201, body
    assert json.dumps(tree) == given, "the tree that came in has changed"
    if resource == PODS:
        words = ("priority", "priorityClassName", "preemptionPolicy", "tolerations")
        for word in words:
            assert mine["spec"].get(word) == body["spec"].get(word), word
        assert mine["metadata"].get("annotations") == body["metadata"].get("annotations")
        for one, other in zip(mine["spec"]["containers"], body["spec"]["containers"], strict=True):
            assert one.get("resources", {}) == other["resources"]
