"""What of a NodePool may go now, what bounds it, how many GPUs a node of it has, and its own NodeClaims."""

import calendar
from typing import Any

import msgspec
import pytest

from cockpit.actions.store_overlay import record_of
from cockpit.kube.decode.decoders import pool_decoder
from cockpit.kube.resource import Resource
from cockpit.model.pool import DisruptionBudget, PoolObject
from cockpit.pools import registry
from cockpit.pools.capacity import CapacityWish
from cockpit.pools.karpenter.budgets import allowed, budget_lines, is_active
from tests.unit.pools.builders import able, node, store_of

NODE_POOLS = Resource("karpenter.sh", "v1", "nodepools", "NodePool", namespaced=False)
NOON = float(calendar.timegm((2026, 11, 24, 12, 0, 0)))  # a Tuesday
Given = DisruptionBudget
TREE: dict[str, Any] = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": "gpu", "uid": "u", "annotations": {"karpenter.sh/nodepool-hash": "12"}},
    "spec": {
        "limits": {"nodes": "4", "nvidia.com/gpu": 16, "cpu": "1", "memory": "1Ti", "odd": "\u202e"},
        "disruption": {
            "consolidateAfter": "30s",
            "consolidationPolicy": "WhenEmpty\x1b[2J",
            "budgets": [{"nodes": "50%"}, {"nodes": 0, "schedule": "0 9 * * 1-5", "duration": "8h"}],
        },
        "template": {
            "metadata": {"labels": {"team": "a"}},
            "spec": {
                "nodeClassRef": {"group": "g", "kind": "K", "name": "n"},
                "expireAfter": "720h",
                "taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}],
                "requirements": [
                    {"key": "karpenter.k8s.aws/instance-gpu-count", "operator": "In", "values": ["8"]}
                ],
            },
        },
    },
    "status": {"resources": {"nvidia.com/gpu": "8", "cpu": "250m", "memory": "512Gi"}},
}


def read(tree: dict[str, Any] | None = None) -> PoolObject:
    """The record of the NodePool, by the decoder that reads the wire."""
    found = record_of(pool_decoder(NODE_POOLS), tree or TREE, "u", "nodepool gpu")
    assert isinstance(found, PoolObject)
    return found


@pytest.mark.parametrize(
    ("schedule", "hours", "state"),
    [
        ("", None, True),
        ("0 9 * * 1-5", 8, True),
        ("0 9 * * 1-5", 2, False),
        ("0 9 * * mon,tue", 8, True),
        ("0 9 * * sat,sun", 8, False),
        ("0 22 23 11 *", 15, True),
        ("@daily", 13, True),
        ("@daily", 11, False),
        ("*/30 12 * * *", 1, True),
        ("0 9 1 * 2", 8, True),
        ("0 9 * * 7", 8, False),
        ("61 * * * *", 8, None),
        ("nonsense", 8, None),
        ("0 9 * * *", None, None),
    ],
)
def test_a_schedule_in_force(schedule: str, hours: float | None, state: bool | None) -> None:
    one = Given("1", schedule=schedule, duration_seconds=None if hours is None else hours * 3600)
    assert is_active(one, NOON) is state


@pytest.mark.parametrize(
    ("budgets", "reason", "count"),
    [
        ((Given("10%"),), "Empty", 1),
        ((Given("10%"), Given("0", ("Drifted",))), "Drifted", 0),
        ((Given("10%"), Given("0", ("Drifted",))), "Empty", 1),
        ((Given("20"),), "Empty", 5),
        ((Given("0", (), "0 9 * * *", 3600.0), Given("3")), "Empty", 3),
        ((Given("many"),), "Empty", None),
    ],
)
def test_how_many_may_go_at_once(budgets: tuple[Given, ...], reason: str, count: int | None) -> None:
    assert allowed(budgets, reason, 5, NOON) == count


def test_the_page_tells_what_bounds_it_and_what_is_held() -> None:
    kept = node(
        "n1",
        labels=(("karpenter.sh/nodepool", "gpu"),),
        annotations=(("karpenter.sh/do-not-disrupt", "true"),),
    )
    found, store = read(), store_of([kept, node("n2")])
    assert registry.page_lines(found, (kept, node("n2")), store, NOON) == (
        "limits of the NodePool: cpu 0.25 of 1 used, memory 512 of 1024 GiB used,"
        " nvidia.com/gpu 8 of 16 used",
        "takes nodes away: WhenEmpty[2J after 30s",
        "budget: 0 nodes may go at once now",
        "  at most 0 at 0 9 * * 1-5 UTC for 8 h: in force",
        "not taken away: n1 (Karpenter: annotation karpenter.sh/do-not-disrupt on the node)",
    )
    assert list(budget_lines(msgspec.structs.replace(found, disruption=None), (), NOON)) == []


def test_a_pool_at_zero_tells_its_gpus_and_what_has_no_room() -> None:
    found, owner = read(), able(read())
    assert (owner.template(found).gpus, found.max_replicas) == (8, 4)
    assert [one.key for one in found.template_taints] == ["gpu"]
    assert owner.no_room(found, 1, 8) == ""
    assert owner.no_room(found, 2, 8).startswith("limit nvidia.com/gpu 8 of 16 used")
    several = {"key": "karpenter.k8s.aws/instance-gpu-count", "operator": "In", "values": ["4", "8"]}
    spec = {**TREE["spec"], "template": {"spec": {"requirements": [several]}}}
    told = owner.template(read({**TREE, "spec": spec}))
    assert (told.gpus, told.most_gpus) == (None, 8)


def test_a_node_claim_is_of_its_pool_and_says_who_asked() -> None:
    wish = CapacityWish(
        name="ask-gpu-1", namespace="x", pods=1, gpus=8, resource="nvidia.com/gpu", nodes=1, by="ann"
    )
    (call,) = able(read()).machine_calls(TREE, wish, ["ask-gpu-1-1"])
    meta, spec = call.body["metadata"], call.body["spec"]
    assert (call.path, meta["name"]) == ("/apis/karpenter.sh/v1/nodeclaims", "ask-gpu-1-1")
    assert meta["labels"] == {
        "team": "a",
        "app.kubernetes.io/managed-by": "gpu-cockpit",
        "gpu-cockpit/pool": "ask-gpu-1",
        "karpenter.sh/nodepool": "gpu",
    }
    assert meta["annotations"]["karpenter.sh/nodepool-hash"] == "12"
    assert meta["ownerReferences"][0]["uid"] == "u"
    assert spec["resources"]["requests"] == {"nvidia.com/gpu": "8"}
    assert spec["requirements"][-1]["values"] == ["gpu"]
    assert {"nodeClassRef", "expireAfter", "taints"} <= spec.keys()
