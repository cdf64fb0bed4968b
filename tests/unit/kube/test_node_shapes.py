"""Model, pool, number of accelerators, zone and spot of nodes in the shapes of many clouds."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from cockpit.kube.decode import decoders
from cockpit.model.node import Node
from cockpit.pools.price import is_spot
from tests.unit.kube.builders import meta

_FILE = Path(__file__).with_name("node_shapes.toml")
NODES: list[dict[str, Any]] = tomllib.loads(_FILE.read_text("utf-8"))["node"]


@pytest.mark.parametrize("shape", NODES, ids=[shape["cloud"] for shape in NODES])
def test_a_node_of_a_cloud_is_read(shape: dict[str, Any]) -> None:
    offers = {name: str(count) for name, count in shape.get("offers", {}).items()}
    tree = {
        "metadata": meta("n1", namespace="")
        | {"labels": shape["labels"], "annotations": shape.get("annotations", {})},
        "status": {"capacity": {"cpu": "8", **offers}, "allocatable": {"cpu": "8", **offers}},
    }
    found = decoders.NODE.from_json(json.dumps(tree).encode())
    assert isinstance(found, Node)
    wanted = (shape["model"], shape.get("pool", ""), shape.get("gpus"))
    assert (found.gpu_model, found.pool, found.gpu_capacity) == wanted
    assert found.gpu_allocatable == found.gpu_capacity
    assert (found.zone, is_spot(found)) == (shape.get("zone", ""), shape.get("spot", False))
    assert found.gpus_expected == shape.get("expected", found.gpus_expected)


def test_the_shapes_are_of_many_clouds() -> None:
    assert len(NODES) >= 60
    assert len({shape["cloud"].partition(",")[0] for shape in NODES}) >= 14
