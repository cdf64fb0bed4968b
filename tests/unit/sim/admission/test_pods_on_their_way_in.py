"""What pods get and what they are refused for: priority, accounts, tolerations, bounds, pod security."""

import pytest

from cockpit.kube.resource import JOBS, NAMESPACES, PODS
from cockpit.sim.port import Tree
from cockpit.sim.resources import PRIORITY_CLASSES, SERVICE_ACCOUNTS
from cockpit.sim.server.admission import keep_default_accounts, system_classes
from cockpit.sim.server.request import Request
from tests.unit.sim.admission.estate import SPACE, Estate, pod

ENFORCE = "pod-security.kubernetes.io/enforce"
WARN = "pod-security.kubernetes.io/warn"


def spec(estate: Estate, tree: Tree) -> Tree:
    found: Tree = estate.admit(PODS, tree)["spec"]
    return found


# ---- priority


def test_a_class_becomes_its_number_and_the_default_class_stands_in() -> None:
    estate = Estate()
    assert {word: spec(estate, pod())[word] for word in ("priority", "preemptionPolicy")} == {
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
    }
    estate.priority_class("calm", 7, preemptionPolicy="Never")
    estate.priority_class("usual", 3, globalDefault=True)
    found = spec(estate, pod(priorityClassName="calm"))
    assert (found["priority"], found["preemptionPolicy"]) == (7, "Never")
    found = spec(estate, pod())
    assert (found["priority"], found["priorityClassName"]) == (3, "usual")
    assert estate.refusal(PODS, pod(priorityClassName="nix")) == (
        'pods "p" is forbidden: no PriorityClass with name nix was found'
    )


def test_only_one_default_class() -> None:
    estate = Estate()
    usual = estate.priority_class("usual", 3, globalDefault=True)
    assert estate.admit(PRIORITY_CLASSES, usual, usual) == usual
    assert estate.refusal(
        PRIORITY_CLASSES, {"metadata": {"name": "x"}, "value": 1, "globalDefault": True}
    ) == (
        'priorityclasses.scheduling.k8s.io "x" is forbidden: PriorityClass usual is already marked as '
        "default. Only one default can exist"
    )


def test_an_update_that_leaves_out_the_priority_keeps_it() -> None:
    estate = Estate()
    old = estate.create(PODS, pod())
    new = {**old, "spec": {word: value for word, value in old["spec"].items() if word != "priority"}}
    assert estate.admit(PODS, new, old)["spec"]["priority"] == 0
    assert [tree["value"] for tree in system_classes()] == [2_000_000_000, 2_000_001_000]


# ---- accounts and tolerations


def test_a_pod_gets_the_account_default_and_may_not_name_one_that_is_not_there() -> None:
    estate = Estate()
    found = spec(estate, pod())
    assert (found["serviceAccountName"], found["serviceAccount"]) == ("default", "default")
    assert estate.refusal(PODS, pod(serviceAccountName="nix")) == (
        'pods "p" is forbidden: error looking up service account team-a/nix: serviceaccount "nix" not found'
    )


def test_every_namespace_has_its_account_again_and_again() -> None:
    estate = Estate()
    made: list[str] = []

    def create(request: Request, tree: Tree) -> None:
        made.append(request.namespace)
        estate.put(SERVICE_ACCOUNTS, tree)

    estate.put(NAMESPACES, {"metadata": {"name": "before"}})
    stop = keep_default_accounts(estate.storage, create)
    assert made == ["before"]
    estate.put(NAMESPACES, {"metadata": {"name": "after"}})
    estate.storage.remove(SERVICE_ACCOUNTS, f"{SPACE}/default")
    assert made == ["before", "after", SPACE]
    estate.put(NAMESPACES, {"metadata": {"name": "after", "deletionTimestamp": "now"}})
    estate.storage.remove(SERVICE_ACCOUNTS, "after/default")
    assert made == ["before", "after", SPACE]
    stop()
    estate.put(NAMESPACES, {"metadata": {"name": "later"}})
    assert made == ["before", "after", SPACE]


def test_tolerations_of_an_outage_are_added_where_they_are_not_said() -> None:
    estate = Estate()
    keys = [(one["key"], one["tolerationSeconds"]) for one in spec(estate, pod())["tolerations"]]
    assert keys == [("node.kubernetes.io/not-ready", 300), ("node.kubernetes.io/unreachable", 300)]
    mine = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "tolerationSeconds": 5}
    found = spec(estate, pod(tolerations=[mine]))["tolerations"]
    assert [one["key"] for one in found] == [mine["key"], "node.kubernetes.io/not-ready"]
    assert spec(estate, pod(tolerations=[{"operator": "Exists"}]))["tolerations"] == [{"operator": "Exists"}]


# ---- limit ranges


def test_defaults_are_filled_in_and_told() -> None:
    estate = Estate()
    estate.limit_range(
        {"type": "Container", "default": {"memory": "1Gi"}, "defaultRequest": {"cpu": "1", "memory": "1Mi"}}
    )
    given = pod(requests={"cpu": "2"})
    found = estate.admit(PODS, given)
    assert found["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "2", "memory": "1Mi"},
        "limits": {"memory": "1Gi"},
    }
    assert found["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": "LimitRanger plugin set: memory request for container c; "
        "memory limit for container c"
    }
    assert given == pod(requests={"cpu": "2"}), "the tree that came in is shared"


def test_every_bound_that_is_broken_is_named() -> None:
    estate = Estate()
    estate.limit_range(
        {"type": "Container", "min": {"cpu": "1"}, "max": {"memory": "1Gi"}},
        {"type": "Pod", "max": {"nvidia.com/gpu": "4"}},
    )
    gpus = {"nvidia.com/gpu": "8"}
    assert estate.refusal(
        PODS, pod(requests={"cpu": "500m", **gpus}, limits={"memory": "2048Mi", **gpus})
    ) == (
        'pods "p" is forbidden: [minimum cpu usage per Container is 1, but request is 500m, '
        "maximum memory usage per Container is 1Gi, but limit is 2Gi, "
        "maximum nvidia.com/gpu usage per Pod is 4, but limit is 8]"
    )


# ---- pod security


def test_the_level_of_the_namespace_is_enforced_on_pods_and_warned_of_on_workloads() -> None:
    estate = Estate(labels={ENFORCE: "baseline", WARN: "restricted"})
    assert estate.refusal(PODS, pod(hostNetwork=True)) == (
        'pods "p" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)'
    )
    job = {"metadata": {"name": "j"}, "spec": {"template": {"spec": pod(hostNetwork=True)["spec"]}}}
    assert estate.admit(JOBS, job) == job
    (warning,) = estate.warnings(JOBS, job)
    assert warning.startswith(
        'would violate PodSecurity "restricted:latest": host namespaces (hostNetwork=true), '
    )
    assert warning.endswith(
        'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")'
    )
    assert len(estate.warnings(PODS, pod())) == 1


def test_enforcing_warns_of_workloads_too_and_other_namespaces_are_free() -> None:
    estate = Estate(labels={ENFORCE: "baseline"})
    job = {"metadata": {"name": "j"}, "spec": {"template": {"spec": pod(hostPID=True)["spec"]}}}
    assert estate.warnings(JOBS, job) == (
        'would violate PodSecurity "baseline:latest": host namespaces (hostPID=true)',
    )
    assert Estate().warnings(JOBS, job) == ()
    Estate().admit(PODS, pod(hostPID=True))


def test_an_update_of_an_old_pod_is_not_judged_unless_its_images_change() -> None:
    estate = Estate()
    old = estate.create(PODS, pod(hostIPC=True))
    estate.put(NAMESPACES, {"metadata": {"name": SPACE, "labels": {ENFORCE: "baseline"}}})
    labelled = {**old, "metadata": {**old["metadata"], "labels": {"a": "b"}}}
    estate.admit(PODS, labelled, old)
    other = {**old, "spec": {**old["spec"], "containers": [{"name": "c", "image": "other"}]}}
    assert "hostIPC=true" in estate.refusal(PODS, other, old)


def test_a_stricter_level_names_the_pods_that_break_it() -> None:
    estate = Estate()
    for name in ("b", "a"):
        estate.create(PODS, pod(name, hostIPC=True))
    estate.create(PODS, pod("c", volumes=[{"name": "v", "hostPath": {"path": "/"}}]))
    old = {"metadata": {"name": SPACE, "labels": {}}}
    new = {"metadata": {"name": SPACE, "labels": {ENFORCE: "baseline"}}}
    assert estate.warnings(NAMESPACES, new, old) == (
        'existing pods in namespace "team-a" violate the new PodSecurity enforce level "baseline:latest"',
        "a (and 1 other pod): host namespaces",
        "c: hostPath volumes",
    )
    assert estate.warnings(NAMESPACES, old, new) == ()


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        ({ENFORCE: "strict"}, 'Invalid value: "strict": must be one of privileged, baseline, restricted'),
        ({f"{WARN}-version": "1.3"}, 'Invalid value: "1.3": must be "latest" or "v1.x"'),
    ],
)
def test_labels_that_say_nothing_are_refused_unless_they_stood_there(
    labels: dict[str, str], text: str
) -> None:
    estate = Estate()
    tree = {"metadata": {"name": "n", "labels": labels}}
    label = next(iter(labels))
    assert estate.refusal(NAMESPACES, tree) == f'Namespace "n" is invalid: metadata.labels[{label}]: {text}'
    assert estate.admit(NAMESPACES, tree, tree) == tree
