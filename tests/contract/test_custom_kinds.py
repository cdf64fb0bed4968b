"""Custom kinds: another version becomes the stored one."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from tests.bed.api import Api
from tests.contract.mirror import eventually
from tests.contract.shapes import GROUP

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
Tree = dict[str, Any]


def _version(name: str, schema: Tree, *, storage: bool) -> Tree:
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": schema}},
    }


class Thing:
    """A kind of its own for one case; `path` is its collection in the case's namespace."""

    def __init__(self, admin: Api, space: str) -> None:
        self._admin = admin
        self._space = space
        self.plural = f"t{uuid.uuid4().hex[:8]}s"
        self.kind = self.plural.capitalize()[:-1]
        self.definition = f"{CRDS}/{self.plural}.{GROUP}"

    async def serve(self, *versions: Tree) -> None:
        names = {
            "plural": self.plural,
            "singular": self.plural[:-1],
            "kind": self.kind,
            "listKind": f"{self.kind}List",
        }
        self._admin.create(
            CRDS,
            {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": f"{self.plural}.{GROUP}"},
                "spec": {
                    "group": GROUP,
                    "scope": "Namespaced",
                    "names": names,
                    "versions": list(versions),
                },
            },
        )
        for version in versions:
            await self.until_served(version["name"])

    async def until_served(self, version: str) -> None:
        path = self.path(version)
        await eventually(lambda: self._admin.request("GET", path).status == 200, f"{path} is served")

    def path(self, version: str = "v1", name: str = "") -> str:
        path = f"/apis/{GROUP}/{version}/namespaces/{self._space}/{self.plural}"
        return f"{path}/{name}" if name else path

    def tree(self, name: str, spec: Tree, version: str = "v1") -> Tree:
        return {
            "apiVersion": f"{GROUP}/{version}",
            "kind": self.kind,
            "metadata": {"name": name},
            "spec": spec,
        }


@pytest.fixture
def thing(admin: Api, space: str) -> Iterator[Thing]:
    one = Thing(admin, space)
    yield one
    admin.delete(one.definition)


LOOSE: Tree = {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}


async def test_another_version_becomes_the_stored_one(admin: Api, thing: Thing) -> None:
    await thing.serve(_version("v1", LOOSE, storage=True), _version("v2", LOOSE, storage=False))
    before = admin.create(thing.path("v1"), thing.tree("old", {"n": 1}))
    admin.merge(
        thing.definition,
        {
            "spec": {
                "versions": [_version("v1", LOOSE, storage=False), _version("v2", LOOSE, storage=True)],
            }
        },
    )
    assert admin.get(thing.definition)["status"]["storedVersions"] == ["v1", "v2"]
    await thing.until_served("v2")
    admin.create(thing.path("v2"), thing.tree("new", {"n": 2}, "v2"))
    for version in ("v1", "v2"):
        listed = admin.get(thing.path(version))
        told = [(one["metadata"]["name"], one["spec"], one["apiVersion"]) for one in listed["items"]]
        api_version = f"{GROUP}/{version}"
        assert told == [("new", {"n": 2}, api_version), ("old", {"n": 1}, api_version)]
    held = admin.get(thing.path("v2", "old"))
    assert held["metadata"]["uid"] == before["metadata"]["uid"]
    admin.merge(thing.path("v1", "old"), {"spec": {"n": 3}})
    assert admin.get(thing.path("v2", "old"))["spec"] == {"n": 3}
