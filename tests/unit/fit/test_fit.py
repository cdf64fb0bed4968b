"""Would it fit: by example, filter for filter, and the sentences."""

from typing import Any

import msgspec
import pytest

from cockpit.fit.gang import fit
from cockpit.fit.reasons import fit_lines, fit_sentence
from cockpit.fit.scheduling_context import Budget, Claim, StorageClass, Surroundings, Volume
from cockpit.fit.shape import Part, Spread
from cockpit.model.gang import ClusterQueue, LocalQueue, QuotaRow
from cockpit.model.node import Taint
from cockpit.model.record import Condition
from cockpit.model.scheduling import HostPort, NodeTerm, PodTerm, Requirement, Toleration, Traits
from tests.unit.fit.builders import (
    APP_A,
    HOST,
    NVIDIA,
    ZONE,
    apart,
    fits,
    fleet,
    holder,
    labelled,
    node,
    shape,
)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"unschedulable": True}, "cordoned"),
        ({"conditions": (Condition("Ready", "Unknown"),)}, "not ready"),
        ({"conditions": ()}, "not ready"),
        ({"deleting_seconds": 1.0}, "leaving"),
        ({"taints": (Taint("dedicated", "infra", "NoSchedule"),)}, "tainted dedicated=infra"),
        ({"taints": (Taint("bad", "", "NoExecute"),)}, "tainted bad"),
        ({"taints": (Taint("node.kubernetes.io/unreachable", "", "NoSchedule"),)}, "not ready"),
    ],
)
def test_what_keeps_pods_off_a_node(fields: dict[str, Any], why: str) -> None:
    answer = fits(fleet(node("a", **fields)), 1, shape(1))
    assert (answer.fits, answer.pieces.obstacles) == (False, ((why, 1),))


@pytest.mark.parametrize(
    "taint", [Taint("soft", "", "PreferNoSchedule"), Taint(NVIDIA, "present", "NoSchedule")]
)
def test_taints_that_do_not_keep_off(taint: Taint) -> None:
    assert fits(fleet(node("a", taints=(taint,))), 1, shape(1)).fits


def test_a_gang_that_fits_is_placed_on_the_fullest_rooms() -> None:
    store = fleet(node("a"), node("b"), node("c"), holder("x", "b", 6))
    answer = fits(store, 4, shape(4))
    assert answer.fits and answer.places == (("a", 2), ("c", 2))
    assert fit_sentence(answer) == "fits now on 2 nodes"
    assert fit_sentence(fits(store, 1, shape(8))) == "fits now on node a"
    assert (answer.largest, fits(store, 1, shape(8)).largest) == (4, 2)


def test_fragmentation_is_told_apart_from_want() -> None:
    store = fleet(node("a"), node("b"), holder("x", "a", 4), holder("y", "b", 4))
    answer = fits(store, 1, shape(8))
    assert (answer.fits, answer.missing) == (False, 1)
    assert answer.pieces[:3] == (8, 4, 8)
    assert fit_sentence(answer) == (
        "pending: needs 8 GPUs as 1 x 8, 8 free, largest free block 4; would start if: 1 more node like a"
    )
    assert "  or: 4 GPUs fewer for each worker" in fit_lines(answer)
    four = fits(store, 4, shape(4))
    assert fit_sentence(four).startswith(
        "pending: needs 16 GPUs as 4 x 4, 8 free, room for 2 of 4 members; would start if: "
    )
    assert "  no room for 2 of 4 workers" in fit_lines(four)
    assert "  largest such gang today: 2 x 4 GPUs" in fit_lines(four)


def test_obstacles_are_counted_and_nodes_without_such_gpus_left_out() -> None:
    store = fleet(
        node("a"),
        node("b", unschedulable=True),
        node("c", unschedulable=True),
        holder("x", "a", 8),
        node("cpu", None),
    )
    answer = fits(store, 1, shape(1))
    assert answer.pieces.matching_nodes == 3
    assert answer.pieces.obstacles == (("cordoned", 2), ("lacking free GPUs", 1))
    assert [one.words for one in answer.remedies] == ["uncordon b", "1 more node like a"]


def test_nodes_that_could_never_hold_a_member_are_not_called_full() -> None:
    store = fleet(node("a", 1), node("b", 1), node("c", 8), holder("x", "c", 6))
    answer = fits(store, 2, shape(4))
    assert answer.pieces.obstacles == (("with 1 GPU in all", 2), ("lacking free GPUs", 1))
    assert answer.pieces.scattered_gpus == 2, "single GPUs are no pieces of a four"
    wanted = "  no room for 2 of 2 workers: 2 nodes with 1 GPU in all, 1 node lacking free GPUs"
    assert wanted in fit_lines(answer)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"cpu": 65_000}, "lacking CPU"),
        ({"memory": 1 << 39}, "lacking memory"),
        ({"rdma/hca": 1}, "lacking rdma/hca"),
        ({"nvidia.com/mig-1g.10gb": 1}, "lacking free MIG 1g.10gb"),
    ],
)
def test_every_resource_counts(more: dict[str, int], why: str) -> None:
    assert fits(fleet(node("a")), 1, shape(1, more=more)).pieces.obstacles == ((why, 1),)


def test_pod_slots_and_named_requests_of_pods_count() -> None:
    store = fleet(node("a", allocatable=((NVIDIA, 8), ("pods", 2), ("rdma/hca", 4))))
    assert fits(store, 3, shape(1)).missing == 1
    taken = Traits(resources=((NVIDIA, 1), ("rdma/hca", 3)))
    store = fleet(
        node("a", allocatable=((NVIDIA, 8), ("pods", 9), ("rdma/hca", 4))), holder("x", "a", 1, traits=taken)
    )
    assert fits(store, 2, shape(1, more={"rdma/hca": 1})).missing == 1


def test_finished_pods_hold_nothing_and_lost_devices_are_not_owed() -> None:
    store = fleet(node("a", 4), holder("x", "a", 8), node("b"), holder("done", "b", 8, phase="Succeeded"))
    assert fits(store, 2, shape(8)).places == (("b", 1),)


def test_selectors_and_required_affinity() -> None:
    model = {"gpu": "h100"}
    store = fleet(node("a"), node("h", labels=model))
    wanted = shape(8, node_selector=(("gpu", "h100"),))
    answer = fits(store, 2, wanted)
    assert answer.places == (("h", 1),)
    assert answer.pieces.obstacles == (("without label gpu=h100", 1),)
    assert answer.remedies[0].words == "remove the node selector gpu=h100"
    terms = (
        NodeTerm((Requirement("gpu", "In", ("a100", "h100")),)),
        NodeTerm((), (Requirement("metadata.name", "In", ("a",)),)),
    )
    assert fits(store, 2, shape(8, node_terms=terms)).fits
    assert fits(store, 1, shape(8, node_terms=())).missing == 1
    assert fits(store, 1, shape(8, node_terms=(NodeTerm(),))).remedies[0].words == (
        "remove the required node affinity"
    )


def test_a_taint_that_alone_is_in_the_way_is_named() -> None:
    store = fleet(node("a", taints=(Taint("team", "b", "NoSchedule"),)))
    assert fits(store, 1, shape(8)).remedies[0].words == "tolerate the taint team=b"
    assert fits(store, 1, shape(8, tolerations=(Toleration("team", "Equal", "b"),))).fits


def test_host_ports() -> None:
    held = Traits(host_ports=(HostPort(22, address="10.0.0.1"),))
    store = fleet(node("a"), node("b"), holder("x", "a", 0, traits=held))
    answer = fits(store, 2, shape(1, host_ports=(HostPort(22),)))
    assert (answer.places, answer.pieces.obstacles) == ((("b", 1),), (("with host port 22 taken", 1),))
    assert fits(store, 2, shape(1, host_ports=(HostPort(22, address="10.0.0.2"),))).fits
    assert fits(store, 3, shape(1, host_ports=(HostPort(22, protocol="UDP"),))).missing == 1


def test_spread_caps_every_zone_at_the_poorest_plus_the_skew() -> None:
    zones = [node(f"{zone}{i}", labels={ZONE: zone}) for zone, i in (("x", 1), ("x", 2), ("y", 1))]
    store = fleet(*zones, holder("p", "y1", 7))
    member = shape(1, labels=(("app", "a"),), spreads=(Spread(ZONE, 1, APP_A),))
    answer = fits(store, 4, member)
    assert (answer.largest, answer.missing, answer.is_sure) == (3, 1, True)
    assert answer.remedies[0].words == f"remove the spread over {ZONE}"
    old = holder("old", "x1", 0, traits=labelled(app="a"))
    assert fits(fleet(*zones, old), 5, member).fits
    few = shape(1, labels=(("app", "a"),), spreads=(Spread(ZONE, 1, APP_A, 3),))
    assert fits(store, 3, few).largest == 2
    assert fits(fleet(node("n")), 1, member).pieces.obstacles == ((f"without label {ZONE}", 1),)


def test_members_that_keep_apart_take_one_domain_each() -> None:
    store = fleet(*(node(f"n{i}", labels={ZONE: "xy"[i % 2]}) for i in range(4)))
    member = shape(1, labels=(("app", "a"),), keeps_away=apart())
    assert (fits(store, 4, member).fits, fits(store, 5, member).missing) == (True, 1)
    by_zone = shape(1, labels=(("app", "a"),), keeps_away=apart(ZONE))
    assert fits(store, 3, by_zone).largest == 2
    both = shape(1, labels=(("app", "a"),), keeps_away=apart(), spreads=(Spread(ZONE, 1, APP_A),))
    assert fits(store, 4, both).fits and fits(store, 5, both).largest == 4


def test_pods_that_are_there_keep_members_away_and_are_kept_away_from() -> None:
    jealous = Traits(labels=(("app", "b"),), keeps_away=apart())
    store = fleet(node("a"), node("b"), holder("x", "a", 0, traits=jealous))
    one = shape(1, labels=(("app", "a"),))
    assert fits(store, 9, one).pieces.obstacles == (("beside pods that keep it away", 1),)
    assert fits(store, 9, shape(1, labels=(("app", "c"),))).fits
    shy = shape(1, keeps_away=(PodTerm(HOST, (Requirement("app", "Exists"),), ("t",)),))
    assert fits(store, 9, shy).pieces.obstacles == (("beside pods it keeps away from", 1),)
    elsewhere = shape(1, keeps_away=(PodTerm(HOST, (Requirement("app", "Exists"),), ("other",)),))
    assert fits(store, 9, elsewhere).fits


def test_affinity_follows_friends_or_starts_a_group_of_its_own() -> None:
    zones = [node("x1", labels={ZONE: "x"}), node("x2", labels={ZONE: "x"}), node("y1", labels={ZONE: "y"})]
    member = shape(8, labels=(("app", "a"),), near=apart(ZONE))
    friend = holder("f", "y1", 0, traits=labelled(app="a"))
    assert fits(fleet(*zones, friend), 2, member).places == (("y1", 1),)
    answer = fits(fleet(*zones), 2, member)
    assert (answer.fits, answer.is_sure) == (True, False)
    assert fit_sentence(answer).startswith("may fit now on 2 nodes")
    assert (fits(fleet(*zones), 1, member).is_sure, fits(fleet(*zones), 3, member).largest) == (True, 2)
    stranger = shape(8, labels=(("app", "c"),), near=apart(ZONE))
    assert fits(fleet(*zones), 1, stranger).largest == 0


def test_claims() -> None:
    store = fleet(node("x", labels={ZONE: "x"}), node("y", labels={ZONE: "y"}))
    member = shape(8, claims=("data",))
    assert fits(store, 2, member).notes == ("volumes were not checked",)

    def around(claim: Claim | None, *volumes: Volume, waits: bool = True) -> Surroundings:
        return Surroundings(
            claims={claim.name: claim} if claim else {},
            volumes={one.name: one for one in volumes},
            classes={"fast": StorageClass("fast", waits=waits)},
        )

    bound = Claim("data", "v", is_bound=True)
    there = fits(store, 2, member, surroundings=around(bound, Volume("v", zones=((ZONE, "x__z"),))))
    assert (there.places, there.pieces.obstacles) == ((("x", 1),), (("where claim data lies in x__z", 1),))
    missing = fits(store, 1, member, surroundings=around(None))
    assert missing.pieces.obstacles == (("where there is no claim data", 2),)
    waiting = Claim("data", storage_class="fast", size_bytes=5, modes=("ReadWriteOnce",))
    free = Volume("v", storage_class="fast", size_bytes=9, modes=("ReadWriteOnce",), is_free=True)
    assert fits(store, 2, member, surroundings=around(waiting, free)).fits
    small = msgspec.structs.replace(free, size_bytes=4)
    assert fits(store, 2, member, surroundings=around(waiting, small)).largest == 0
    assert fits(store, 2, member, surroundings=around(waiting, free, waits=False)).largest == 0
    lonely = msgspec.structs.replace(bound, modes=("ReadWriteOncePod",))
    assert fits(store, 2, member, surroundings=around(lonely, Volume("v"))).largest == 1


def test_quota_of_the_queue_and_what_the_cohort_lends() -> None:
    def queue(name: str, nominal: int, reserved: int, limit: int | None = None) -> ClusterQueue:
        row = QuotaRow("h100", NVIDIA, nominal, reserved=reserved, borrowing_limit=limit)
        return ClusterQueue(uid=name, name=name, cohort="all", quotas=(row,))

    local = LocalQueue(uid="q", name="q", namespace="t", cluster_queue="one")
    nodes = [node(f"n{i}") for i in range(4)]
    store = fleet(*nodes, local, queue("one", 8, 4), queue("two", 8, 2))
    assert fits(store, 10, shape(1), queue="q").fits
    answer = fits(store, 11, shape(1), queue="q")
    assert (answer.fits, answer.missing) == (False, 0)
    assert fit_sentence(answer) == "pending: queue one has 10 of the 11 GPUs left (flavor h100)"
    assert fits(
        fleet(*nodes, local, queue("one", 8, 4, 2), queue("two", 8, 2)), 7, shape(1), queue="q"
    ).shortage
    assert fits(fleet(*nodes, local), 1, shape(1), queue="q").shortage is not None
    assert fits(store, 11, shape(1), queue="unknown").fits


def test_members_of_lower_priority_are_pushed_aside_and_budgets_kept() -> None:
    fields = {"priority": 1, "job_label": "low", "traits": labelled(app="a")}
    store = fleet(
        node("a"),
        node("b"),
        holder("x", "a", 8, **fields),
        holder("y", "b", 8, priority=5, job_label="middle"),
    )
    high = shape(8, priority=10)
    push = fits(store, 1, high).push
    assert push is not None
    assert (push.victims, push.jobs, push.protected) == (("t/x",), ("t/low",), 0)
    assert push.knows_budgets is False
    guarded = Surroundings(budgets=(Budget("t", "keep", APP_A, 0),))
    push = fits(store, 1, high, surroundings=guarded).push
    assert push is not None and (push.victims, push.protected) == (("t/y",), 0)
    push = fits(store, 2, high, surroundings=guarded).push
    assert push is not None and (push.members, push.protected) == (2, 1)
    assert "1 of them against a disruption budget" in "\n".join(
        fit_lines(fits(store, 2, high, surroundings=guarded))
    )
    assert fits(store, 1, shape(8, priority=1)).push is None
    assert fits(store, 1, shape(8, priority=10, preempts=False)).push is None


def test_unlike_members_stand_beside_each_other() -> None:
    store = fleet(node("a", allocatable=((NVIDIA, 8), ("cpu", 10_000), ("pods", 10))))
    worker, launcher = shape(4, more={"cpu": 4_000}), shape(0, more={"cpu": 2_000})
    gang = [Part("launcher", 1, launcher), Part("worker", 2, worker)]
    answer = fit(store, gang)
    assert (answer.fits, answer.places, answer.main) == (True, (("a", 3),), 1)
    more = fit(store, [Part("launcher", 2, launcher), Part("worker", 2, worker)])
    assert (more.missing, more.parts[0].missing, more.largest) == (1, 1, 1)


def test_nothing_there_and_nothing_asked() -> None:
    assert fit_sentence(fits(fleet(), 2, shape(2))) == "pending: no node advertises a GPU"
    assert fit_sentence(fits(fleet(node("a")), 0, shape(2))) == "nothing requested"
