"""Quotas: what is used follows every commit, and nothing that would exceed it is let through."""

from hypothesis import given
from hypothesis import strategies as st

from cockpit.k8s.quantity import quantity
from cockpit.kube.resource import PODS, SERVICES
from cockpit.sim.port import PortError, Tree
from cockpit.sim.resources import CONFIG_MAPS, PERSISTENT_VOLUME_CLAIMS, RESOURCE_QUOTAS
from tests.unit.sim.admission.estate import SPACE, Estate, gpu_pod, pod


def test_gpus_are_counted_and_a_pod_too_many_is_refused_in_the_real_words() -> None:
    estate = Estate()
    estate.quota(hard={"requests.nvidia.com/gpu": "8", "pods": "5"})
    assert estate.used() == {"pods": "0", "requests.nvidia.com/gpu": "0"}
    estate.create(PODS, gpu_pod("a", 6))
    assert estate.used() == {"pods": "1", "requests.nvidia.com/gpu": "6"}
    assert estate.refusal(PODS, gpu_pod("b", 3)) == (
        'pods "b" is forbidden: exceeded quota: q, requested: requests.nvidia.com/gpu=3, '
        "used: requests.nvidia.com/gpu=6, limited: requests.nvidia.com/gpu=8"
    )
    estate.create(PODS, gpu_pod("b", 2))
    assert estate.used()["requests.nvidia.com/gpu"] == "8"


def test_what_ends_or_goes_is_given_back() -> None:
    estate = Estate()
    estate.quota(hard={"requests.nvidia.com/gpu": "8", "pods": "1", "count/pods": "9"})
    stored = estate.create(PODS, gpu_pod("a", 8))
    estate.put(PODS, {**stored, "status": {"phase": "Succeeded"}})
    assert estate.used() == {"count/pods": "1", "pods": "0", "requests.nvidia.com/gpu": "0"}
    estate.create(PODS, gpu_pod("b", 8))
    estate.storage.remove(PODS, f"{SPACE}/b")
    assert estate.used() == {"count/pods": "1", "pods": "0", "requests.nvidia.com/gpu": "0"}


def test_a_write_that_fails_after_its_admission_uses_nothing() -> None:
    estate = Estate()
    estate.quota(hard={"pods": "1"})
    estate.admit(PODS, pod("a"))
    assert estate.used() == {"pods": "0"}
    estate.create(PODS, pod("b"))
    assert "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1" in estate.refusal(
        PODS, pod("c")
    )


def test_a_quota_counts_what_was_there_before_it_and_follows_its_own_changes() -> None:
    estate = Estate()
    estate.create(PODS, gpu_pod("a", 4))
    quota = estate.quota(hard={"requests.nvidia.com/gpu": "2"})
    assert estate.used() == {"requests.nvidia.com/gpu": "4"}
    assert "used: requests.nvidia.com/gpu=4, limited: requests.nvidia.com/gpu=2" in estate.refusal(
        PODS, gpu_pod("b", 1)
    )
    estate.admit(PODS, pod("no-gpus"))
    estate.put(RESOURCE_QUOTAS, {**quota, "spec": {"hard": {"pods": "7"}}})
    assert estate.used() == {"pods": "1"}
    estate.storage.remove(RESOURCE_QUOTAS, f"{SPACE}/q")
    estate.create(PODS, gpu_pod("b", 100))


def test_memory_and_cpu_are_summed_in_their_own_form() -> None:
    estate = Estate()
    estate.quota(hard={"requests.memory": "3Gi", "limits.cpu": "3"})
    estate.create(PODS, pod("a", requests={"memory": "512Mi"}, limits={"cpu": "1500m"}))
    estate.create(PODS, pod("b", requests={"memory": "1Gi"}, limits={"cpu": "500m"}))
    assert estate.used() == {"limits.cpu": "2", "requests.memory": "1536Mi"}
    assert estate.refusal(PODS, pod("c")) == (
        'pods "c" is forbidden: failed quota: q: must specify limits.cpu for: c; requests.memory for: c'
    )


def test_scopes_of_a_priority_class_choose_the_pods() -> None:
    estate = Estate()
    estate.priority_class("gold", 1000)
    scope = {"scopeName": "PriorityClass", "operator": "In", "values": ["gold"]}
    estate.quota("gold", hard={"pods": "1"}, scopeSelector={"matchExpressions": [scope]})
    estate.quota(
        "rest", hard={"pods": "2"}, scopeSelector={"matchExpressions": [{**scope, "operator": "NotIn"}]}
    )
    estate.create(PODS, pod("a", priorityClassName="gold"))
    estate.create(PODS, pod("b"))
    assert (estate.used("gold"), estate.used("rest")) == ({"pods": "1"}, {"pods": "1"})
    assert "exceeded quota: gold" in estate.refusal(PODS, pod("c", priorityClassName="gold"))
    estate.create(PODS, pod("c"))


def test_a_deadline_moves_a_pod_from_one_scope_to_the_other() -> None:
    estate = Estate()
    estate.quota("short", hard={"pods": "1"}, scopes=["Terminating"])
    estate.quota("long", hard={"pods": "5"}, scopes=["NotTerminating"])
    estate.create(PODS, pod("a", activeDeadlineSeconds=60))
    old = estate.create(PODS, pod("b"))
    limited = {**old, "spec": {**old["spec"], "activeDeadlineSeconds": 5}}
    assert "exceeded quota: short" in estate.refusal(PODS, limited, old)
    estate.storage.remove(PODS, f"{SPACE}/a")
    estate.put(PODS, estate.admit(PODS, limited, old))
    assert (estate.used("short"), estate.used("long")) == ({"pods": "1"}, {"pods": "0"})


def test_counts_claims_and_services() -> None:
    estate = Estate()
    hard = {"count/configmaps": "1", "configmaps": "1", "services.nodeports": "1", "resourcequotas": "1"}
    hard |= {"fast.storageclass.storage.k8s.io/requests.storage": "5Gi"}
    estate.quota(hard=hard)
    estate.create(CONFIG_MAPS, {"metadata": {"name": "a"}})
    claim: Tree = {
        "metadata": {"name": "v"},
        "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "4Gi"}}},
    }
    estate.create(PERSISTENT_VOLUME_CLAIMS, claim)
    service: Tree = {"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": [{}, {}]}}
    assert "requested: services.nodeports=2, used: services.nodeports=0" in estate.refusal(SERVICES, service)
    assert "requested: configmaps=1,count/configmaps=1, used: configmaps=1" in estate.refusal(
        CONFIG_MAPS, {"metadata": {"name": "b"}}
    )
    bigger = {**claim, "spec": {**claim["spec"], "resources": {"requests": {"storage": "6Gi"}}}}
    assert "requests.storage=2Gi, used" in estate.refusal(PERSISTENT_VOLUME_CLAIMS, bigger, claim)
    assert "exceeded quota: q, requested: resourcequotas=1" in estate.refusal(
        RESOURCE_QUOTAS, {"metadata": {"name": "more"}, "spec": {"hard": {}}}
    )
    assert estate.used() == {
        "configmaps": "1",
        "count/configmaps": "1",
        "fast.storageclass.storage.k8s.io/requests.storage": "4Gi",
        "resourcequotas": "1",
        "services.nodeports": "0",
    }


STEPS = st.lists(
    st.tuples(st.sampled_from(["create", "end", "remove"]), st.integers(0, 4), st.integers(0, 5)), max_size=25
)


@given(STEPS)
def test_what_is_used_is_the_sum_over_the_pods_that_live_and_never_beyond_the_bound(
    steps: list[tuple[str, int, int]],
) -> None:
    estate = Estate()
    estate.quota(hard={"requests.nvidia.com/gpu": "6", "pods": "3"})
    live: dict[str, int] = {}
    there: dict[str, Tree] = {}
    for verb, number, gpus in steps:
        name = f"p{number}"
        if verb == "create" and name not in there:
            fits = sum(live.values()) + gpus <= 6 and len(live) + 1 <= 3
            try:
                there[name] = estate.create(PODS, gpu_pod(name, gpus))
                live[name] = gpus
                assert fits
            except PortError as error:
                assert not fits, error
        elif verb == "end" and name in there:
            there[name] = estate.put(PODS, {**there[name], "status": {"phase": "Failed"}})
            live.pop(name, None)
        elif verb == "remove" and name in there:
            estate.storage.remove(PODS, f"{SPACE}/{name}")
            there.pop(name)
            live.pop(name, None)
        used = {word: quantity(value).amount for word, value in estate.used().items()}
        assert used == {"requests.nvidia.com/gpu": sum(live.values()), "pods": len(live)}
