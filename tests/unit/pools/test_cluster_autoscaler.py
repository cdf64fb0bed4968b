"""The cluster autoscaler: which pools it sizes, what it says went wrong, and what is kept of that."""
# ruff: noqa: E501 - texts as they are written

import msgspec
import pytest

from cockpit.attach import watched_kinds
from cockpit.k8s.labels import AUTOSCALER_MAXIMUM, AUTOSCALER_MINIMUM
from cockpit.model.autoscaler import AutoscalerStatus, ScaledGroup
from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.event import Event
from cockpit.model.node import Node
from cockpit.model.pool import PoolObject
from cockpit.model.record import Kind
from cockpit.pools import registry
from cockpit.pools.cluster_autoscaler.groups import groups_of
from cockpit.pools.cluster_autoscaler.texts import Said, said_by
from cockpit.pools.failures import failures_of
from cockpit.pools.index import pools_of
from cockpit.pools.owner import FailureClass
from cockpit.pools.sightings import MOST, kept_events
from cockpit.store.store import Store
from cockpit.views.pool_json import owner_words
from tests.unit.pools.builders import BORN, able, deployment, node, store_of

GROUP = "MachineDeployment/capi/h100"


def group(name: str = GROUP, **more: object) -> ScaledGroup:
    """Of at most 8 nodes."""
    return ScaledGroup(name=name, minimum=1, maximum=8, up="NoActivity", **more)  # type: ignore[arg-type]


def status(*groups: ScaledGroup, age: float = 10.0) -> AutoscalerStatus:
    """Read at BORN."""
    return AutoscalerStatus(
        uid="uid-status",
        name="cluster-autoscaler-status",
        namespace="kube-system",
        written_seconds=BORN - age,
        read_seconds=BORN,
        groups=groups,
    )


def world(found: AutoscalerStatus, *pools: PoolObject, nodes: tuple[Node, ...] = ()) -> Store:
    """A store with a status."""
    store = store_of(nodes, pools=pools)
    store.apply(Batch(kind=Kind.AUTOSCALER, changed=(found,)))
    return store


def event(
    reason: str,
    message: str,
    *,
    at: float = BORN,
    uid: str = "",
    object_name: str = "",
    object_kind: str = "",
) -> Event:
    """On the status."""
    return Event(
        uid=uid or f"uid-{reason}-{at}-{object_name}",
        name=f"{reason}.{at}.{object_name}",
        reason=reason,
        message=message,
        last_seconds=at,
        object_name=object_name,
        object_kind=object_kind,
    )


def test_a_pool_in_its_status_is_its_own_whoever_holds_the_object() -> None:
    store = world(status(group()), deployment(), deployment("other"))
    h100, other = pools_of(store)
    assert h100.why_not == (
        f"the cluster autoscaler controls the size, between 1 and 8 (group {GROUP}): it would undo a change;"
        " raise its maximum, or let pending pods trigger it"
    )
    assert (h100.minimum, h100.maximum, other.why_not) == (1, 8, "")
    says = registry.ownership(deployment(), (), store)
    assert (says.owner, says.may_demand.may, says.read_seconds) == ("the cluster autoscaler", True, BORN)


def test_two_owners_of_an_eks_group_the_autoscaler_wins() -> None:
    some = node("a", pool="gpu-h100", pool_label="eks.amazonaws.com/nodegroup")
    store = world(status(group("eks-gpu-h100-1cc8a5a3")), nodes=(some,))
    (pool,) = pools_of(store)
    assert "group eks-gpu-h100-1cc8a5a3): it would undo a change" in pool.why_not
    assert (pool.minimum, pool.maximum) == (1, 8)


def test_one_that_has_stopped_owns_nothing_and_is_told() -> None:
    store = world(status(group(), age=200.0), deployment())
    (pool,) = pools_of(store)
    assert pool.why_not == ""
    (found,) = failures_of(pool, store, BORN)
    assert (found.kind, found.since_seconds) == (FailureClass.NO_AUTOSCALER, BORN - 200.0)
    assert found.sentence.startswith("the cluster autoscaler does not work")


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        ((GROUP, "MachineDeployment/capi/h100-2"), GROUP),
        (("MachineDeployment/other/h100",), None),
        (("eks-h100-aa", "eks-a100-bb"), "eks-h100-aa"),
        (("eks-h100-aa", "eks-h100-bb"), None),
        (("eks-xh100x-aa",), None),
        (("https://www.googleapis.com/compute/v1/projects/p/zones/z/instanceGroups/gke-c-h100-1234-grp",), 0),
        (("aks-h100-30581364-vmss",), "aks-h100-30581364-vmss"),
    ],
)
def test_groups_are_joined_by_name_and_never_guessed(
    names: tuple[str, ...], wanted: str | int | None
) -> None:
    found = groups_of(status(*map(group, names)), deployment(), ())
    assert (found[0].name if found else None) == (names[0] if wanted == 0 else wanted)


SAID = [
    ("ScaledUpGroup", "Scale-up: setting group {} size to 3 instead of 2 (max: 10)", Said("ScaledUpGroup", GROUP, "", "", 3, 2)),
    ("ScaledUpGroup", "Scale-up: group {} size set to 3 instead of 2 (max: 10)", Said("ScaledUpGroup", GROUP, "", "", 3, 2)),
    ("FailedToScaleUpGroup", "Scale-up failed for group {}: no", Said("FailedToScaleUpGroup", GROUP, "", "no")),
    ("ScaleUpTimedOut", "Nodes added to group {} failed to register within 15m0s", Said("ScaleUpTimedOut", GROUP, "", "15m0s")),
    ("ScaleUpFailed", "Failed adding 2 nodes to group {} due to OutOfResource.QUOTA_EXCEEDED; source errors: Quota", Said("ScaleUpFailed", GROUP, "OutOfResource.QUOTA_EXCEEDED", "Quota")),
    ("MaxNodesTotalReached", "Max total nodes in cluster reached: 40", Said("MaxNodesTotalReached", "", "", "40")),
    ("ClusterUnhealthy", "Cluster is unhealthy", Said("ClusterUnhealthy")),
]  # fmt: skip


@pytest.mark.parametrize(("reason", "text", "said"), SAID)
def test_events_become_values(reason: str, text: str, said: Said) -> None:
    assert said_by(event(reason, text.format(GROUP))) == said
    assert said_by(event(reason, "something new")) is None


@pytest.mark.parametrize(
    ("names", "node_name", "of"),
    [
        ((GROUP, "MachineDeployment/capi/h100-spot"), "h100-spot-abcde-xyzab", "h100-spot"),
        ((GROUP, "MachineDeployment/capi/h100-spot"), "h100-abcde-xyzab", "h100"),
        (("t4", "h100"), "t4-xk2p9", "t4"),
        (("aks-h100-99-vmss", "aks-t4-98-vmss"), "aks-h100-99-vmss000001", "h100"),
    ],
)
def test_a_node_that_it_took_away_is_told_of_its_pool_alone(
    names: tuple[str, ...], node_name: str, of: str
) -> None:
    store = world(status(*map(group, names)))
    texts = ('removing empty node "{}"', "empty node {} removed")
    said = tuple(
        event(
            "ScaleDownEmpty", f"{head}Scale-down: {text.format(node_name)}", at=BORN - 60, uid=f"{head}{at}"
        )
        for head in ("", "(combined from similar events): ")
        for at, text in enumerate(texts)
    )
    kept = kept_events(Batch(kind=Kind.EVENT, changed=said), store)
    assert kept is not None
    store.apply(kept)
    for pool in pools_of(store):
        told = [one.text for one in owner_words(pool, store) if one.source == "event"]
        assert told == [f"ScaleDownEmpty: empty node {node_name} removed"] * (pool.name == of), pool.name
        assert failures_of(pool, store, BORN) == (), "a removal is no failure"


FAILURES = [
    ("ScaleUpFailed", "Failed adding 2 nodes to group {} due to OutOfResource.QUOTA_EXCEEDED; source errors: x", "QUOTA"),
    ("ScaleUpFailed", "Failed adding 1 nodes to group {} due to RESOURCE_POOL_EXHAUSTED; source errors: x", "STOCKOUT"),
    ("ScaleUpFailed", "Failed adding 1 nodes to group {} due to placeholder-cannot-be-fulfilled; source errors: AWS cannot provision any more instances for this node group", "STOCKOUT"),
    ("ScaleUpFailed", "Failed adding 1 nodes to group {} due to PERMISSIONS_ERROR; source errors: x", "PERMISSION"),
    ("FailedToScaleUpGroup", "Scale-up failed for group {}: Operation could not be completed as it results in exceeding approved Total Regional Cores quota.", "QUOTA"),
    ("ScaleUpTimedOut", "Nodes added to group {} failed to register within 15m0s", "JOIN"),
    ("MaxNodesTotalReached", "Max total nodes in cluster reached: 40", "LIMIT"),
]  # fmt: skip


@pytest.mark.parametrize(("reason", "text", "kind"), FAILURES)
def test_a_failure_has_a_class_a_sentence_and_a_remedy(reason: str, text: str, kind: str) -> None:
    store = world(status(group()), deployment())
    said = event(reason, text.format(GROUP), at=BORN - 60)
    others = (event(reason, text.format("G"), at=BORN - 50),) if "{}" in text else ()
    store.apply(Batch(kind=Kind.OWNER_EVENT, changed=(said, *others)))
    (pool,) = pools_of(store)
    found = [one for one in failures_of(pool, store, BORN) if one.said == said.message]
    (one,) = found
    assert (one.kind, one.since_seconds) == (FailureClass[kind], BORN - 60)
    assert one.sentence
    assert one.remedy
    assert failures_of(pool, store, BORN + 7 * 3600) == ()


def test_what_it_says_before_and_after_it_asked_the_cloud_is_told_once() -> None:
    store = world(status(group()), deployment())
    texts = (
        ("Scale-up: setting group {} size to 3 instead of 2 (max: 8)", BORN - 60),
        ("Scale-up: group {} size set to 3 instead of 2 (max: 8)", BORN - 60),
        ("Scale-up: setting group {} size to 2 instead of 1 (max: 8)", BORN - 600),
    )
    said = tuple(
        event("ScaledUpGroup", text.format(GROUP), at=at, uid=f"u{number}")
        for number, (text, at) in enumerate(texts)
    )
    store.apply(Batch(kind=Kind.OWNER_EVENT, changed=said))
    told = able(None, "the cluster autoscaler").words(deployment(), (), store)
    assert [one.text for one in told[1:]] == [
        f"ScaledUpGroup: Scale-up: group {GROUP} size set to 3 instead of 2 (max: 8)",
        f"ScaledUpGroup: Scale-up: setting group {GROUP} size to 2 instead of 1 (max: 8)",
    ]


def test_the_backoff_of_a_group_is_told_with_its_code() -> None:
    words = "Instance 'x' creation failed: Quota 'CPUS' exceeded. Limit: 57.0 in region us-central1."
    held = msgspec.structs.replace(
        group(error_code="QUOTA_EXCEEDED", error_message=words, up_since_seconds=BORN - 30), up="Backoff"
    )
    store = world(status(held), deployment())
    (one,) = failures_of(pools_of(store)[0], store, BORN)
    assert (one.kind, one.code, one.said) == (FailureClass.QUOTA, "QUOTA_EXCEEDED", words)
    assert one.sentence == (
        "the cluster autoscaler backs off after a failed scale-up: a quota of the cloud account is used up"
    )


def test_events_that_tell_of_failures_are_kept_and_bounded() -> None:
    store = Store()
    assert kept_events(Batch(kind=Kind.EVENT, changed=(event("Pulled", "x"),)), store) is None
    for at in range(MOST + 20):
        batch = Batch(kind=Kind.EVENT, changed=(event("ScaleUpFailed", "x", at=BORN + at),))
        kept = kept_events(batch, store)
        assert kept is not None
        store.apply(kept)
    times = sorted(one.last_seconds for one in store.records(Kind.OWNER_EVENT).values())
    assert (len(times), times[0]) == (MOST, BORN + 20)


@pytest.mark.parametrize(
    ("phase", "message", "words"),
    [
        (
            Phase.ABSENT,
            "There is no status in scaling.",
            ["status not read: There is no status in scaling; the setting autoscaler-status names another"],
        ),
        (
            Phase.DENIED,
            "you cannot get configmaps in scaling.",
            ["status not read: you cannot get configmaps in scaling"],
        ),
        (Phase.BACKING_OFF, "The server answers 500.", []),
    ],
)
def test_a_status_that_is_not_there_names_the_setting(phase: Phase, message: str, words: list[str]) -> None:
    store = store_of((), pools=[deployment()])
    store.apply(
        Batch(kind=Kind.AUTOSCALER, status=StreamStatus(kind=Kind.AUTOSCALER, phase=phase, message=message))
    )
    found = able(None, "the cluster autoscaler").words(deployment(), (), store)
    assert [one.text for one in found] == words


def test_its_status_is_read_where_the_setting_says() -> None:
    def where(*setting: str) -> list[tuple[str, str]]:
        return [(one.namespace, one.name) for one in watched_kinds(*setting) if one.kind == Kind.AUTOSCALER]

    assert where() == [("kube-system", "cluster-autoscaler-status")]
    assert where("scaling/status-of.h100") == [("scaling", "status-of.h100")]


@pytest.mark.parametrize(
    ("minimum", "maximum", "words"),
    [
        ("5", "2", "the minimum 5 of MachineDeployment capi/h100 is above its maximum 2"),
        ("1", "ten", "is 'ten', no whole number"),
        ("-1", "4", "is '-1', no whole number"),
        ("one", "4", "is 'one', no whole number"),
    ],
)
@pytest.mark.parametrize("is_working", [True, False])
def test_bounds_that_cannot_be_followed_are_said_and_not_believed(
    minimum: str, maximum: str, words: str, is_working: bool
) -> None:
    told = ((AUTOSCALER_MINIMUM, minimum), (AUTOSCALER_MAXIMUM, maximum))
    one = deployment(annotations=told, minimum=5, maximum=2)
    store = world(status(age=10.0 if is_working else 200.0), one)
    (pool,) = pools_of(store)
    assert words in pool.why_not and (pool.minimum, pool.maximum) == (None, None)
    says = registry.ownership(one, (), store)
    assert (says.may_demand.may, says.may_limit.may) == (False, minimum not in {"one", "-1"})
    (found,) = failures_of(pool, store, BORN)
    assert found.kind is FailureClass.BOUNDS and words in found.sentence


def test_bounds_of_a_group_that_contradict_each_other_are_not_believed_either() -> None:
    some = node("a", pool="gpu-h100", pool_label="eks.amazonaws.com/nodegroup")
    wrong = msgspec.structs.replace(group("eks-gpu-h100-1cc8a5a3"), minimum=5, maximum=2)
    (pool,) = pools_of(world(status(wrong), nodes=(some,)))
    assert (pool.minimum, pool.maximum) == (None, None)
    assert "minimum 5 is above its maximum 2" in pool.why_not and not pool.grows_by_demand
