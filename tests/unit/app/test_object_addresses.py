"""Where the object behind a row is, for every kind of row that keys of objects know."""

from typing import Any

import pytest

from cockpit.model.gang import ClusterQueue, LocalQueue
from cockpit.model.node import Node
from cockpit.model.object_table import ObjectAddress
from cockpit.model.pod import Pod
from cockpit.model.pool import Pool
from cockpit.screens.inspect import PAGES
from cockpit.screens.object_address import address_of, is_object


def record(made: type[Any], **fields: Any) -> Any:
    return made(uid="u", name="x", **fields)


@pytest.mark.parametrize(
    ("thing", "address"),
    [
        (record(Pod, namespace="a"), ("v1", "Pod", "a", "x")),
        (record(Node), ("v1", "Node", "", "x")),
        (record(LocalQueue, namespace="a"), ("kueue.x-k8s.io/", "localqueues", "a", "x")),
        (record(ClusterQueue), ("kueue.x-k8s.io/", "clusterqueues", "", "x")),
        (
            Pool(name="p", owner_group="cluster.x-k8s.io", owner_kind="MachinePool", owner_key="ns/mp"),
            ("cluster.x-k8s.io/", "MachinePool", "ns", "mp"),
        ),
        (
            Pool(name="p", owner_group="karpenter.sh", owner_kind="NodePool", owner_key="np"),
            ("karpenter.sh/", "NodePool", "", "np"),
        ),
        (ObjectAddress("v1", "ConfigMap", "a", "c"), ("v1", "ConfigMap", "a", "c")),
    ],
)
def test_the_object_behind_a_row_has_its_address(thing: Any, address: tuple[str, ...]) -> None:
    assert is_object(thing)
    assert address_of(thing) == address


def test_a_pool_that_no_object_owns_is_no_object() -> None:
    assert not is_object(Pool(name="of a label"))


def test_yaml_description_and_owners_are_had_of_the_same_kinds() -> None:
    assert PAGES["yaml"].kinds == PAGES["describe"].kinds == PAGES["owners"].kinds
