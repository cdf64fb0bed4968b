"""Keep a node: which owner is told, and what is taken away again."""

import asyncio
from typing import Any

import msgspec
import pytest

from cockpit.actions.keep import OURS, OURS_BY, KeepOptions, plan_to_keep
from cockpit.actions.planning import Planning
from cockpit.errors import Unchanged
from cockpit.model.autoscaler import AutoscalerStatus, ScaledGroup
from cockpit.model.batch import Batch
from cockpit.model.node import Node
from cockpit.model.plan import Plan
from cockpit.model.record import Kind
from cockpit.store.store import Store
from tests.unit.actions.builders import Line, store_of
from tests.unit.pools.builders import deployment

AUTOSCALER, KARPENTER = "cluster-autoscaler.kubernetes.io/scale-down-disabled", "karpenter.sh/do-not-disrupt"
NODE = Node(uid="n0", name="gpu-0", resource_version="6")
OF_POOL = msgspec.structs.replace(
    NODE, labels=(("pool", "gpu"),), gpu_capacity=8, gpu_resource="nvidia.com/gpu"
)


def planned(node: Node, *, off: bool = False, store: Store | None = None) -> Plan:
    session: Any = Line()
    store = store_of(nodes=(node,)) if store is None else store
    planning = Planning(store, session, lambda *_: None, "prod", at_seconds=1e9)
    return asyncio.run(plan_to_keep(planning, node, KeepOptions(off)))


def after(node: Node, plan: Plan) -> Node:
    """The node as the patch leaves it."""
    given = plan.calls[0].body["metadata"]["annotations"]
    notes = {key: value for key, value in (dict(node.annotations) | given).items() if value is not None}
    return msgspec.structs.replace(node, annotations=tuple(sorted(notes.items())))


def test_both_are_told_where_nobody_knows_who_takes_it_away() -> None:
    plan = planned(NODE)
    assert set(plan.calls[0].body["metadata"]["annotations"]) == {AUTOSCALER, KARPENTER, OURS, OURS_BY}
    assert plan.lines[-1] == "who takes its machine away is not known here: each of them is told"


def test_only_its_owner_is_told_where_its_label_tells_it() -> None:
    plan = planned(msgspec.structs.replace(NODE, labels=(("karpenter.sh/nodepool", "h100"),)))
    assert plan.lines == ("Karpenter will not take it away while it is idle", f"annotation {KARPENTER}=true")
    assert plan.calls[0].body["metadata"]["annotations"][KARPENTER] == "true"


def owned(*more: Batch) -> Store:
    """The node is of a MachineDeployment."""
    pool = deployment("gpu", template_labels=(("pool", "gpu"),))
    store = store_of(nodes=(OF_POOL,))
    for batch in (Batch(kind=Kind.POOL, changed=(pool,)), *more):
        store.apply(batch)
    return store


def test_the_pool_is_named_where_no_autoscaler_of_it_is_seen() -> None:
    plan = planned(OF_POOL, store=owned())
    assert plan.lines[-1] == (
        "its pool is MachineDeployment capi/gpu: no autoscaler of it is seen, so each of them is told"
    )


def test_only_the_autoscaler_is_told_where_it_sizes_the_pool() -> None:
    group = ScaledGroup(name="MachineDeployment/capi/gpu", minimum=1, maximum=4)
    status = AutoscalerStatus(uid="s", name="s", groups=(group,), written_seconds=1e9, read_seconds=1e9)
    plan = planned(OF_POOL, store=owned(Batch(kind=Kind.AUTOSCALER, changed=(status,))))
    assert plan.lines == (
        "the cluster autoscaler will not take it away while it is idle",
        f"annotation {AUTOSCALER}=true",
    )


def test_what_was_set_here_is_taken_away_and_nothing_else() -> None:
    foreign = msgspec.structs.replace(NODE, annotations=((AUTOSCALER, "true"),))
    kept = after(foreign, planned(foreign))
    assert dict(kept.annotations)[OURS] == KARPENTER
    with pytest.raises(Unchanged, match="node gpu-0 is already kept"):
        planned(kept)
    plan = planned(kept, off=True)
    assert after(kept, plan).annotations == foreign.annotations
    assert plan.warnings == (f"{AUTOSCALER} was set by someone else: it stays, and keeps the node",)
    assert not plan.is_destructive


def test_what_somebody_else_set_is_asked_for() -> None:
    foreign = msgspec.structs.replace(NODE, annotations=((AUTOSCALER, "true"),))
    plan = planned(foreign, off=True)
    assert plan.is_destructive and plan.warnings == (f"{AUTOSCALER} was set by someone else",)
    assert after(foreign, plan).annotations == ()
    with pytest.raises(Unchanged, match="node gpu-0 is not kept"):
        planned(after(foreign, plan), off=True)
