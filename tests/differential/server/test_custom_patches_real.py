"""Patches of custom objects have the same outcome here and on the real kube-apiserver: object and owners."""

from typing import Any

import pytest

from cockpit.kube.resource import Resource
from cockpit.sim.port import PortError
from cockpit.sim.server.patch.apply import apply
from cockpit.sim.server.patch.json_patch import json_patch
from cockpit.sim.server.patch.managed import update_managed
from cockpit.sim.server.patch.merge import merge
from cockpit.sim.server.refusals import invalid
from cockpit.sim.server.schema.custom import CustomSchema, custom_schema
from tests.bed.api import Api
from tests.differential.go_phrases import without_go

Tree = dict[str, Any]
Step = tuple[str, Any, Tree]
NOW = 1_790_000_000.0
MEDIA = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "apply": "application/apply-patch+yaml",
}


def _spec(**spec: Any) -> Tree:
    return {"spec": spec}


STORIES: dict[str, list[Step]] = {
    "merge": [
        ("merge", _spec(s="abc", m={"a": 1}), {}),
        ("merge", _spec(m={"a": None, "b": 2}), {}),
        ("merge", _spec(arr=["a"], lm=[{"k": "x"}]), {}),
        ("merge", _spec(lm=[{"k": "x", "v": 9}, {"k": "y"}]), {}),
        ("merge", _spec(d=None, dn=None, nul=None), {}),
        ("merge", _spec(any={"p": {"q": [1, {"r": 2}]}}), {}),
        ("merge", _spec(any={"p": None}), {}),
        ("merge", _spec(n=99), {}),
        ("merge", _spec(o={}), {}),
        ("merge", {"metadata": {"labels": {"a": "b"}}}, {}),
    ],
    "json": [
        ("json", [{"op": "add", "path": "/spec/set", "value": ["a", "b"]}], {}),
        ("json", [{"op": "add", "path": "/spec/set/-", "value": "c"}], {}),
        ("json", [{"op": "remove", "path": "/spec/set/0"}], {}),
        ("json", [{"op": "replace", "path": "/spec/n", "value": "x"}], {}),
        ("json", [{"op": "remove", "path": "/spec/none"}], {}),
    ],
    "apply": [
        ("apply", _spec(n=2, lm=[{"k": "a"}, {"k": "b", "v": 1}]), {"manager": "one"}),
        ("apply", _spec(n=2, lm=[{"k": "a"}, {"k": "b", "v": 1}]), {"manager": "one", "force": True}),
        ("apply", _spec(lm=[{"k": "b", "v": 2}, {"k": "c"}]), {"manager": "two"}),
        ("apply", _spec(lm=[{"k": "c"}], set=["x", "y"]), {"manager": "two"}),
        ("apply", _spec(set=["y", "z"]), {"manager": "three"}),
        ("apply", _spec(lm=[{"k": "c"}]), {"manager": "two"}),
        ("apply", _spec(n=2), {"manager": "one"}),
        ("apply", _spec(arr=["a"]), {"manager": "two"}),
        ("apply", _spec(arr=["b"]), {"manager": "three"}),
        ("apply", _spec(any={"deep": {"er": 1}}, m={"a": 1}), {"manager": "three"}),
        ("apply", _spec(any={"deep": {}}, m={"b": 1}), {"manager": "three"}),
        ("apply", _spec(stranger=1), {"manager": "three"}),
        ("apply", _spec(lm=[{"v": 1}]), {"manager": "three"}),
        ("apply", {}, {"manager": "three"}),
    ],
}


@pytest.fixture
def served(things: tuple[Tree, Resource]) -> tuple[CustomSchema, Resource]:
    """The definition as ours understands it."""
    definition, resource = things
    return custom_schema(resource.kind, definition["spec"]["versions"][0]), resource


def _ours(custom: CustomSchema, resource: Resource, live: Tree, step: Step) -> Tree:
    kind, patch, options = step
    shape = custom.shape
    manager, ignored = options.get("manager", "tester"), (("f:status",),)
    if kind == "apply":
        force = options.get("force", False)
        done = apply(live, patch, manager, force, shape, NOW, ignored=ignored)
        if done is live:
            return live
    else:
        done = merge(live, patch) if kind == "merge" else json_patch(live, patch)
    new, _ = custom.decode(done, "Ignore")
    if causes := custom.validate(new):
        raise invalid(resource, live["metadata"]["name"], causes)
    if kind == "apply":
        return new
    return update_managed(live, new, manager, "Update", "", NOW, shape, ignored=ignored)


def _plain(tree: Tree) -> Tree:
    metadata = {key: item for key, item in tree["metadata"].items() if key not in _COUNTED}
    entries = [
        {key: item for key, item in entry.items() if key != "time"}
        for entry in tree["metadata"].get("managedFields", [])
    ]
    metadata["managedFields"] = sorted(entries, key=lambda one: (one["operation"], one["manager"]))
    return {**tree, "metadata": metadata}


_COUNTED = ("resourceVersion", "generation", "managedFields")


@pytest.mark.real
@pytest.mark.parametrize("story", sorted(STORIES))
def test_a_story_of_patches(api: Api, served: tuple[CustomSchema, Resource], story: str) -> None:
    custom, resource = served
    path = resource.path("default")
    base = {"apiVersion": resource.api_version, "kind": "Thing"}
    start = {**base, "metadata": {"name": story}, "spec": {"n": 1}}
    live = api.request("POST", path, start, query=[("fieldManager", "maker")]).checked().json()
    for number, (kind, sent, options) in enumerate(STORIES[story]):
        patch = sent
        if kind == "apply":
            patch = {**base, **sent, "metadata": {"name": story, "namespace": "default"}}
        query = [("fieldManager", options.get("manager", "tester"))]
        if options.get("force"):
            query.append(("force", "true"))
        reply = api.request("PATCH", f"{path}/{story}", patch, query=query, content_type=MEDIA[kind])
        real = reply.json()
        try:
            mine = _ours(custom, resource, live, (kind, patch, options))
        except PortError as refused:
            said = (number, reply.status, without_go(real.get("message", "")))
            assert (number, refused.status, without_go(refused.message)) == said
            continue
        assert reply.status < 300, (number, real["message"])
        assert (number, _plain(mine)) == (number, _plain(real))
        live = real


def test_the_stories_have_every_kind_of_patch() -> None:
    assert {kind for steps in STORIES.values() for kind, _, _ in steps} == set(MEDIA)
