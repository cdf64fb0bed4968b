"""What pods get and what they are refused for: priority, accounts, tolerations, bounds, pod security."""

import pytest

from cockpit.kube.resource import NAMESPACES, PODS
from cockpit.sim.port import Tree
from cockpit.sim.resources import PRIORITY_CLASSES, SERVICE_ACCOUNTS
from cockpit.sim.server.admission import keep_default_accounts, system_classes
from cockpit.sim.server.builtin.pods import complete
from cockpit.sim.server.request import Request
from tests.unit.sim.admission.estate import SPACE, Estate, pod

ENFORCE = "pod-security.kubernetes.io/enforce"


def spec(estate: Estate, tree: Tree) -> Tree:
    found: Tree = estate.admit(PODS, tree)["spec"]
    return found


# ---- priority


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


# ---- limit ranges


# ---- pod security


def test_an_update_of_an_old_pod_is_not_judged_unless_its_images_change() -> None:
    estate = Estate()
    old = estate.create(PODS, pod(hostIPC=True))
    estate.put(NAMESPACES, {"metadata": {"name": SPACE, "labels": {ENFORCE: "baseline"}}})
    labelled = {**old, "metadata": {**old["metadata"], "labels": {"a": "b"}}}
    estate.admit(PODS, labelled, old)
    other = {**old, "spec": {**old["spec"], "containers": [{"name": "c", "image": "other"}]}}
    assert "hostIPC=true" in estate.refusal(PODS, other, old)


@pytest.mark.parametrize("is_on_host", [False, True])
def test_on_the_hosts_network_each_port_is_one_of_the_host(is_on_host: bool) -> None:
    def container(name: str) -> Tree:
        return {"name": name, "image": "a:1", "ports": [{"containerPort": 6006}]}

    made = {"hostNetwork": is_on_host, "containers": [container("a")], "initContainers": [container("b")]}
    done = complete({"spec": made})["spec"]
    ports = [done[key][0]["ports"][0].get("hostPort") for key in ("containers", "initContainers")]
    assert ports == [6006 if is_on_host else None] * 2
