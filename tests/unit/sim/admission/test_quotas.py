"""Quotas: what is used follows every commit, and nothing that would exceed it is let through."""

from hypothesis import given
from hypothesis import strategies as st

from cockpit.k8s.quantity import quantity
from cockpit.kube.resource import PODS
from cockpit.sim.port import PortError, Tree
from cockpit.sim.resources import RESOURCE_QUOTAS
from tests.unit.sim.admission.estate import SPACE, Estate, gpu_pod, pod


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
