"""Custom kinds: another version becomes the stored one, and rules in CEL are kept."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from tests.bed.api import Api
from tests.contract.mirror import eventually
from tests.contract.shapes import GROUP

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE = "application/merge-patch+json"
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
MARKED: Tree = {"spec": {**LOOSE["spec"], "properties": {"mark": {"type": "string", "enum": ["this"]}}}}


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


async def test_the_old_version_can_go_once_nothing_is_stored_in_it(admin: Api, thing: Thing) -> None:
    await thing.serve(_version("v1", LOOSE, storage=True), _version("v2", LOOSE, storage=False))
    admin.create(thing.path("v1"), thing.tree("old", {"n": 1}))
    only = {"spec": {"versions": [_version("v2", MARKED, storage=True)]}}
    refused = admin.request("PATCH", thing.definition, only, content_type=MERGE)
    assert refused.status == 422
    assert "status.storedVersions[0]" in {one["field"] for one in refused.json()["details"]["causes"]}
    both = [_version("v1", LOOSE, storage=False), _version("v2", MARKED, storage=True)]
    admin.merge(thing.definition, {"spec": {"versions": both}})

    def is_stored_in_v2() -> bool:
        """v2 is served before: only what the new definition forbids tells that it is in force."""
        other = thing.tree("probe", {"mark": "else"}, "v2")
        return admin.request("POST", thing.path("v2"), other, query=[("dryRun", "All")]).status == 422

    await eventually(is_stored_in_v2, "the new versions are in force")
    admin.merge(thing.path("v2", "old"), {"spec": {"n": 2}})  # written anew, in v2
    admin.merge(f"{thing.definition}/status", {"status": {"storedVersions": ["v2"]}})
    admin.merge(thing.definition, only)
    await eventually(lambda: admin.request("GET", thing.path("v1")).status == 404, "v1 is served no longer")
    await thing.until_served("v2")
    assert [one["metadata"]["name"] for one in admin.get(thing.path("v2"))["items"]] == ["old"]
    admin.merge(thing.path("v2", "old"), {"spec": {"n": 4}})
    assert admin.get(thing.path("v2", "old"))["spec"] == {"n": 4}


def _ruled(properties: Tree, *rules: Tree, **more: Any) -> Tree:
    spec = {"type": "object", "properties": properties, **more}
    if rules:
        spec["x-kubernetes-validations"] = list(rules)
    return _version("v1", {"spec": spec}, storage=True)


INT: Tree = {"type": "integer"}
COUNTS = [{"rule": "self.least <= self.most", "message": "least is above most"}]


async def test_a_rule_is_kept_at_create_update_patch_and_apply(admin: Api, thing: Thing) -> None:
    await thing.serve(_ruled({"least": INT, "most": INT}, *COUNTS))
    bad = thing.tree("x", {"least": 3, "most": 2})
    reply = admin.request("POST", thing.path(), bad)
    assert (reply.status, reply.json()["reason"]) == (422, "Invalid")
    assert reply.json()["details"]["causes"] == [
        {"reason": "FieldValueInvalid", "message": "Invalid value: least is above most", "field": "spec"}
    ]
    made = admin.create(thing.path(), thing.tree("x", {"least": 1, "most": 2}))
    path = thing.path(name="x")
    put = {**made, "spec": {"least": 9, "most": 2}}
    assert admin.request("PUT", path, put).status == 422
    assert (
        admin.request(
            "PATCH", path, {"spec": {"most": 0}}, content_type="application/merge-patch+json"
        ).status
        == 422
    )
    applied = admin.request(
        "PATCH",
        path,
        bad,
        content_type="application/apply-patch+yaml",
        query=[("fieldManager", "me"), ("force", "true")],
    )
    assert applied.status == 422
    assert admin.get(path)["spec"] == {"least": 1, "most": 2}
