"""Plays for the StatefulSet and the ResourceClaim controller, told by `test_controller_words_real`.

Not modelled by ours, and in no play: claims that go with their pod or their set, the limit of the history.
"""

from typing import Any

from tests.differential.controller_ground import Play, Side, Tree, ended, pod_spec, run_all


def stateful_set(replicas: int = 3, **spec: Any) -> Tree:
    labels = {"app": "db"}
    template = {"metadata": {"labels": labels}, "spec": pod_spec(None)}
    wish = {"selector": {"matchLabels": labels}, "template": template, "serviceName": "db"}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db"},
        "spec": {"replicas": replicas, **wish, **spec},
    }


def volume(name: str = "data") -> Tree:
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {"metadata": {"name": name}, "spec": asked}


def stateful_set_comes_up_in_order(side: Side) -> None:
    side.make(stateful_set())
    side.look()
    for _ in range(3):
        run_all(side, "db-")
        side.look()


def stateful_set_comes_up_all_together(side: Side) -> None:
    side.make(stateful_set(podManagementPolicy="Parallel", ordinals={"start": 5}))
    side.look()
    run_all(side, "db-")
    side.look()


def stateful_set_with_claims(side: Side) -> None:
    wish = stateful_set(2, volumeClaimTemplates=[volume(), volume("scratch")])
    wish["spec"]["template"]["spec"]["volumes"] = [{"name": "tmp", "emptyDir": {}}]
    side.make(wish)
    side.look()
    run_all(side, "db-")
    side.look()
    side.remove("statefulsets", "db")
    side.look()


def stateful_set_makes_a_lost_pod_again(side: Side) -> None:
    side.make(stateful_set(2))
    run_all(side, "db-0")
    run_all(side, "db-1")
    side.look()
    side.remove("pods", "db-0")
    side.look()
    run_all(side, "db-0")
    side.become("db-1", **ended(1))
    side.look()


def stateful_set_shrinks(side: Side) -> None:
    side.make(stateful_set(3, podManagementPolicy="Parallel"))
    run_all(side, "db-")
    side.look()
    side.change("statefulsets", "db", {"spec": {"replicas": 1}})
    side.look()
    side.change("statefulsets", "db", {"spec": {"replicas": 0}})
    side.look()


def stateful_set_shrinks_in_order(side: Side) -> None:
    side.make(stateful_set(2))
    run_all(side, "db-0")
    run_all(side, "db-1")
    side.change("statefulsets", "db", {"spec": {"replicas": 1}})
    side.look()


def stateful_set_rolls(side: Side) -> None:
    side.make(stateful_set(2))
    run_all(side, "db-0")
    run_all(side, "db-1")
    side.look()
    side.change("statefulsets", "db", {"spec": {"template": {"metadata": {"annotations": {"v": "2"}}}}})
    side.look()
    run_all(side, "db-1")
    side.look()
    run_all(side, "db-0")
    side.look()


def stateful_set_stops_at_its_partition(side: Side) -> None:
    side.make(stateful_set(2, updateStrategy={"rollingUpdate": {"partition": 1}, "type": "RollingUpdate"}))
    run_all(side, "db-0")
    run_all(side, "db-1")
    side.change("statefulsets", "db", {"spec": {"template": {"metadata": {"annotations": {"v": "2"}}}}})
    run_all(side, "db-1")
    side.look()
    side.remove("pods", "db-0")
    side.look()


def stateful_set_that_leaves_old_pods(side: Side) -> None:
    side.make(stateful_set(1, updateStrategy={"type": "OnDelete"}))
    run_all(side, "db-0")
    side.change("statefulsets", "db", {"spec": {"template": {"metadata": {"annotations": {"v": "2"}}}}})
    side.look()
    side.remove("pods", "db-0")
    side.look()


def stateful_set_is_orphaned(side: Side) -> None:
    side.make(stateful_set(1))
    side.look()
    side.remove("statefulsets", "db", "Orphan")
    side.look()


def claim_template(name: str = "gpus") -> Tree:
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}
    metadata = {"labels": {"team": "a"}, "annotations": {"why": "training"}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name},
        "spec": {"metadata": metadata, "spec": {"devices": {"requests": [request]}}},
    }


def claiming(name: str = "trainer", **claims: str) -> Tree:
    spec = pod_spec()
    asked = claims or {"gpu": "gpus"}
    spec["resourceClaims"] = [
        {"name": each, "resourceClaimTemplateName": template} for each, template in asked.items()
    ]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def claims_are_made_for_a_pod(side: Side) -> None:
    side.make(claim_template())
    side.make(claiming(gpu="gpus", more="gpus"))
    side.look()
    side.remove("pods", "trainer")
    side.look()


def claims_wait_for_their_template(side: Side) -> None:
    side.make(claiming())
    side.look()
    side.make(claim_template())
    side.look()


def claims_of_a_pod_that_ended_go(side: Side) -> None:
    side.make(claim_template())
    side.make(claiming())
    side.look()
    side.become("trainer", **ended(0))
    side.look()


def a_claim_that_was_deleted_stays_away(side: Side) -> None:
    """The real controller takes it for being there as long as its own cache has it, and looks no more."""
    side.make(claim_template())
    side.make(claiming())
    side.look()
    side.remove("resourceclaims", *side.named("resourceclaims"))
    side.look()


STATEFUL_PLAYS: tuple[Play, ...] = (
    stateful_set_comes_up_in_order,
    stateful_set_comes_up_all_together,
    stateful_set_with_claims,
    stateful_set_makes_a_lost_pod_again,
    stateful_set_shrinks,
    stateful_set_shrinks_in_order,
    stateful_set_rolls,
    stateful_set_stops_at_its_partition,
    stateful_set_that_leaves_old_pods,
    stateful_set_is_orphaned,
    claims_are_made_for_a_pod,
    claims_wait_for_their_template,
    claims_of_a_pod_that_ended_go,
    a_claim_that_was_deleted_stays_away,
)
