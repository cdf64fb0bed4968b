"""Which object a shortage rests on: a pool only where the subject is bound to a part of the nodes."""

import pytest

from cockpit.catalogue import Cause
from cockpit.model.batch import Batch
from cockpit.model.finding import FilterStep, Finding, Funnel, Subject
from cockpit.model.node import Node
from cockpit.model.record import Kind
from cockpit.store.store import Store
from cockpit.triage.roots import with_root


@pytest.mark.parametrize(
    ("left", "root"),
    [(3, Subject("request", "", "8 GPUs")), (1, Subject("pool", "", "l40s"))],
    ids=["any node would do", "its selector leaves one"],
)
def test_the_pool_of_the_best_node_is_a_root_for_who_may_use_no_other(left: int, root: Subject) -> None:
    store = Store()
    pools = ("l40s", "h100", "h100")
    nodes = tuple(Node(uid=f"n{at}", name=f"n{at}", pool=pool) for at, pool in enumerate(pools))
    store.apply(Batch(kind=Kind.NODE, changed=nodes))
    found = Finding(
        subject=Subject("job", "team-a", "sweep"),
        cause=Cause.GPUS_IN_PIECES,
        facts=(("asked", "8 GPUs"), ("node", "n0")),
        funnel=Funnel(nodes=3, steps=(FilterStep("selector", "node selector and affinity", left),)),
    )
    assert with_root(found, store).root == root
