"""The same writes put to kube-apiserver: what is refused and how, what is filled in, what is warned of."""

import http.client
import json
import ssl
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from cockpit.k8s.quantity import quantity
from cockpit.kube.resource import NAMESPACES, PODS, SERVICES, Resource
from cockpit.sim.port import PortError, Tree
from cockpit.sim.resources import (
    DEPLOYMENTS,
    LIMIT_RANGES,
    PERSISTENT_VOLUME_CLAIMS,
    PRIORITY_CLASSES,
    RESOURCE_QUOTAS,
)
from cockpit.sim.server.admission import Admissions
from cockpit.sim.server.request import Request
from cockpit.sim.server.storage import Storage, key_of
from tests.bed.api import Api
from tests.bed.bed import Bed

pytestmark = pytest.mark.real

SPACES: dict[str, Tree] = {
    "adm-plain": {},
    "adm-baseline": {"pod-security.kubernetes.io/enforce": "baseline"},
    "adm-restricted": {"pod-security.kubernetes.io/enforce": "restricted"},
    "adm-warned": {"pod-security.kubernetes.io/warn": "restricted"},
    "adm-limits": {},
    "adm-quota": {},
}
CLASSES = [
    {"metadata": {"name": "adm-high"}, "value": 1000},
    {"metadata": {"name": "adm-never"}, "value": 5, "preemptionPolicy": "Never"},
]
LIMITS: list[Tree] = [
    {
        "type": "Container",
        "default": {"cpu": "500m", "memory": "512Mi"},
        "defaultRequest": {"cpu": "0.25"},
        "min": {"cpu": "100m"},
        "max": {"cpu": "2"},
        "maxLimitRequestRatio": {"cpu": "4"},
    },
    {"type": "Pod", "max": {"memory": "1024Mi"}},
    {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "10Gi"}},
]
QUOTAS: dict[str, Tree] = {
    "devices": {"hard": {"requests.nvidia.com/gpu": "8", "pods": "3", "services.nodeports": "1"}},
    "memory": {"hard": {"requests.memory": "1Gi"}, "scopes": ["NotBestEffort"]},
    "high": {
        "hard": {"pods": "0"},
        "scopeSelector": {
            "matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["adm-high"]}]
        },
    },
}


def resources(requests: Tree | None = None, limits: Tree | None = None) -> Tree:
    parts = {"requests": requests, "limits": limits}
    return {"resources": {word: value for word, value in parts.items() if value}}


def pod(*containers: Tree, name: str = "p", **spec: Any) -> Tree:
    named = [{"name": f"c{n}", "image": "i", **one} for n, one in enumerate(containers or ({},))]
    return {"metadata": {"name": name}, "spec": {"containers": named, **spec}}


def secured(**context: Any) -> Tree:
    return {"securityContext": context}


GOOD = {
    "allowPrivilegeEscalation": False,
    "runAsNonRoot": True,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}
HOST_PATH = [{"name": "h", "hostPath": {"path": "/"}}, {"name": "n", "nfs": {"server": "s", "path": "/"}}]
GPU = {"nvidia.com/gpu": "9"}
WRITES: dict[str, tuple[str, Resource, Tree]] = {
    "plain": ("adm-plain", PODS, pod()),
    "class": ("adm-plain", PODS, pod(priorityClassName="adm-high")),
    "class that never preempts": ("adm-plain", PODS, pod(priorityClassName="adm-never")),
    "no such class": ("adm-plain", PODS, pod(priorityClassName="nix")),
    "system class": ("adm-plain", PODS, pod(priorityClassName="system-node-critical")),
    "priority given": ("adm-plain", PODS, pod(priorityClassName="adm-high", priority=7)),
    "policy given": (
        "adm-plain",
        PODS,
        pod(priorityClassName="adm-never", preemptionPolicy="PreemptLowerPriority"),
    ),
    "generated name": (
        "adm-plain",
        PODS,
        {**pod(priorityClassName="nix"), "metadata": {"generateName": "g-"}},
    ),
    "tolerations given": (
        "adm-plain",
        PODS,
        pod(
            tolerations=[{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}]
        ),
    ),
    "tolerates all": ("adm-plain", PODS, pod(tolerations=[{"operator": "Exists"}])),
    "baseline plain": ("adm-baseline", PODS, pod()),
    "baseline host": ("adm-baseline", PODS, pod(hostNetwork=True, hostPID=True, volumes=HOST_PATH)),
    "baseline privileged": (
        "adm-baseline",
        PODS,
        pod(
            secured(privileged=True),
            secured(privileged=True),
            secured(capabilities={"add": ["SYS_ADMIN", "IPC_LOCK"]}),
        ),
    ),
    "baseline ports": ("adm-baseline", PODS, pod({"ports": [{"containerPort": 80, "hostPort": 8080}]})),
    "baseline profiles": (
        "adm-baseline",
        PODS,
        pod(
            secured(seccompProfile={"type": "Unconfined"}),
            securityContext={"seccompProfile": {"type": "Unconfined"}},
        ),
    ),
    "restricted plain": ("adm-restricted", PODS, pod({}, {})),
    "restricted good": ("adm-restricted", PODS, pod(secured(**GOOD))),
    "restricted root": (
        "adm-restricted",
        PODS,
        pod(
            secured(**GOOD | {"runAsNonRoot": False, "runAsUser": 0}), securityContext={"runAsNonRoot": False}
        ),
    ),
    "restricted capabilities": (
        "adm-restricted",
        PODS,
        pod(secured(**GOOD | {"capabilities": {"drop": ["NET_RAW"], "add": ["CHOWN", "NET_BIND_SERVICE"]}})),
    ),
    "restricted volumes": ("adm-restricted", PODS, pod(secured(**GOOD), volumes=HOST_PATH)),
    "restricted init": (
        "adm-restricted",
        PODS,
        pod(secured(**GOOD), initContainers=[{"name": "init", "image": "i"}]),
    ),
    "warned pod": ("adm-warned", PODS, pod()),
    "warned workload": (
        "adm-warned",
        DEPLOYMENTS,
        {
            "metadata": {"name": "d"},
            "spec": {
                "selector": {"matchLabels": {"a": "b"}},
                "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod(hostNetwork=True)["spec"]},
            },
        },
    ),
    "limits filled in": ("adm-limits", PODS, pod({}, resources({"cpu": "300m"}))),
    "limits too little": ("adm-limits", PODS, pod(resources({"cpu": "50m"}, {"cpu": "60m"}))),
    "limits too much": ("adm-limits", PODS, pod(resources({"cpu": "3"}, {"cpu": "3"}))),
    "limits ratio": ("adm-limits", PODS, pod(resources({"cpu": "150m"}, {"cpu": "2"}))),
    "limits pod": (
        "adm-limits",
        PODS,
        pod(resources(None, {"memory": "1Gi"}), resources(None, {"memory": "0.5Gi"})),
    ),
    "claim too small": (
        "adm-limits",
        PERSISTENT_VOLUME_CLAIMS,
        {
            "metadata": {"name": "v"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "100Mi"}}},
        },
    ),
    "claim too large": (
        "adm-limits",
        PERSISTENT_VOLUME_CLAIMS,
        {
            "metadata": {"name": "v"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "11Gi"}}},
        },
    ),
    "quota within": ("adm-quota", PODS, pod()),
    "quota devices": ("adm-quota", PODS, pod(resources(GPU, GPU))),
    "quota generated name": (
        "adm-quota",
        PODS,
        {**pod(resources(GPU, GPU)), "metadata": {"generateName": "g-"}},
    ),
    "quota memory": ("adm-quota", PODS, pod(resources({"memory": "1500Mi"}))),
    "quota memory unsaid": ("adm-quota", PODS, pod(resources({"cpu": "1"}), {})),
    "quota of a class": ("adm-quota", PODS, pod(priorityClassName="adm-high")),
    "quota of node ports": (
        "adm-quota",
        SERVICES,
        {
            "metadata": {"name": "s"},
            "spec": {"type": "NodePort", "ports": [{"name": "a", "port": 1}, {"name": "b", "port": 2}]},
        },
    ),
    "second default class": (
        "",
        PRIORITY_CLASSES,
        {"metadata": {"name": "adm-other"}, "value": 1, "globalDefault": True},
    ),
}


@pytest.fixture(scope="module")
def admin(bed_apiserver: Bed) -> Iterator[Api]:
    api = bed_apiserver.api()
    for name, labels in SPACES.items():
        api.create("/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
    for tree in CLASSES:
        api.create("/apis/scheduling.k8s.io/v1/priorityclasses", tree)
    api.create(
        "/api/v1/namespaces/adm-limits/limitranges", {"metadata": {"name": "l"}, "spec": {"limits": LIMITS}}
    )
    for name, spec in QUOTAS.items():
        path = "/api/v1/namespaces/adm-quota/resourcequotas"
        api.create(path, {"metadata": {"name": name}, "spec": spec})
        # No controller runs here: what it would have written is written by hand.
        api.merge(
            f"{path}/{name}/status",
            {"status": {"hard": spec["hard"], "used": dict.fromkeys(spec["hard"], "0")}},
        )
    yield api
    for name in SPACES:
        api.delete(f"/api/v1/namespaces/{name}")
    for tree in CLASSES:
        api.delete(f"/apis/scheduling.k8s.io/v1/priorityclasses/{tree['metadata']['name']}")  # type: ignore[index]


@pytest.fixture(scope="module")
def ours(admin: Api) -> Admissions:
    """Our admissions over the real server's own objects."""
    storage = Storage()
    for resource in (NAMESPACES, PRIORITY_CLASSES, LIMIT_RANGES):
        for tree in admin.items(resource.path()):
            metadata = tree["metadata"]
            storage.put(resource, key_of(metadata.get("namespace", ""), metadata["name"]), tree)
    served = (PODS, SERVICES, PERSISTENT_VOLUME_CLAIMS)
    admissions = Admissions(storage, lambda: served, with_accounts=False)
    for name, spec in QUOTAS.items():
        tree = {"metadata": {"name": name, "namespace": "adm-quota"}, "spec": spec}
        storage.put(RESOURCE_QUOTAS, f"adm-quota/{name}", tree)
    return admissions


def real_answer(bed: Bed, path: str, tree: Tree) -> tuple[int, Tree, tuple[str, ...]]:
    """Status, body, and the texts of the Warning headers."""
    address = urlsplit(bed.server)
    context = ssl.create_default_context(cafile=str(bed.ca_file))
    connection = http.client.HTTPSConnection(address.hostname or "", address.port, context=context)
    try:
        connection.request(
            "POST",
            f"{path}?dryRun=All",
            json.dumps(tree),
            {"Authorization": f"Bearer {bed.token()}", "Content-Type": "application/json"},
        )
        answer = connection.getresponse()
        warnings = answer.headers.get_all("Warning") or []
        texts = tuple(json.loads(one.removeprefix("299 - ")) for one in warnings)
        return answer.status, json.loads(answer.read()), texts
    finally:
        connection.close()


@pytest.mark.parametrize("case", WRITES)
def test_a_write(bed_apiserver: Bed, admin: Api, ours: Admissions, case: str) -> None:
    if case == "second default class":
        admin.create(
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            {"metadata": {"name": "adm-default"}, "value": 3, "globalDefault": True},
        )
    try:
        _compare(bed_apiserver, admin, ours, case)
    finally:
        if case == "second default class":
            admin.delete("/apis/scheduling.k8s.io/v1/priorityclasses/adm-default")


def _compare(bed: Bed, admin: Api, ours: Admissions, case: str) -> None:
    space, resource, tree = WRITES[case]
    given = json.dumps(tree)
    status, body, warned = real_answer(bed, resource.path(space), tree)
    if case == "second default class":
        path = f"{resource.path()}/adm-default"
        ours.security._storage.put(resource, "adm-default", admin.get(path))
    request = Request(resource=resource, namespace=space, verb="create")
    try:
        mine = tree
        for admission in ours.chain:
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
    assert ours.warnings(request, mine, None) == tuple(one for one in warned if "PodSecurity" in one)
    if resource == PODS:
        words = ("priority", "priorityClassName", "preemptionPolicy", "tolerations")
        for word in words:
            assert mine["spec"].get(word) == body["spec"].get(word), word
        assert mine["metadata"].get("annotations") == body["metadata"].get("annotations")
        for one, other in zip(mine["spec"]["containers"], body["spec"]["containers"], strict=True):
            assert one.get("resources", {}) == other["resources"]


def test_a_limit_range_is_completed(admin: Api, ours: Admissions) -> None:
    tree = {"metadata": {"name": "l", "namespace": "adm-limits"}, "spec": {"limits": LIMITS}}
    mine: Tree = tree
    for admission in ours.chain:
        mine = admission(Request(resource=LIMIT_RANGES, namespace="adm-limits"), mine, None)
    theirs = admin.get("/api/v1/namespaces/adm-limits/limitranges/l")["spec"]["limits"]
    assert [_as_quantities(item) for item in mine["spec"]["limits"]] == [
        _as_quantities(item) for item in theirs
    ]


def _as_quantities(item: Tree) -> Tree:
    return {
        word: {name: str(quantity(one)) for name, one in value.items()} if isinstance(value, dict) else value
        for word, value in item.items()
    }
