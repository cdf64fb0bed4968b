"""One API server for all of the folder: each comparison has its own namespace or group in it."""

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from cockpit.kube.resource import Resource
from cockpit.sim.resources import CUSTOM_RESOURCE_DEFINITIONS
from tests.bed.api import Api
from tests.bed.bed import Bed
from tests.bed.fixtures import bed_apiserver
from tests.differential.schema_cases import THINGS

__all__ = ["bed_apiserver"]

CRDS = CUSTOM_RESOURCE_DEFINITIONS.path()


@pytest.fixture(scope="session")
def api(bed_apiserver: Bed) -> Api:
    return bed_apiserver.api()


@pytest.fixture(scope="session")
def things(api: Api) -> Iterator[tuple[dict[str, Any], Resource]]:
    """A definition that is served, and its resource, in a group of this run's own."""
    group = f"t{uuid.uuid4().hex[:8]}.test"
    definition = json.loads(json.dumps(THINGS).replace("y.test", group))
    api.create(CRDS, definition)
    name = definition["metadata"]["name"]
    try:
        # A watch that ends with the first event that says so: nobody polls.
        watch = (("watch", "1"), ("fieldSelector", f"metadata.name={name}"), ("timeoutSeconds", "5"))
        body = api.request("GET", CRDS, query=watch).body.decode()
        assert '"type":"Established","status":"True"' in body
        yield definition, Resource(group, "v1", "things", "Thing", namespaced=True)
    finally:
        api.delete(f"{CRDS}/{name}")
