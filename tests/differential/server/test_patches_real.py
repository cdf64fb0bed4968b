"""Every patch of `patch_cases` has the same outcome here and on the real kube-apiserver.

What is compared: the object, who owns which field, the refusal.
"""

import itertools
import json
import re
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from cockpit.sim.port import PortError
from cockpit.sim.server.builtin.table import built_in
from cockpit.sim.server.patch.apply import apply
from cockpit.sim.server.patch.json_patch import json_patch
from cockpit.sim.server.patch.managed import update_managed
from cockpit.sim.server.patch.merge import merge
from cockpit.sim.server.patch.strategic import strategic
from cockpit.sim.server.refusals import invalid
from cockpit.sim.server.schema.decode import accepted_patch
from cockpit.sim.server.schema.kinds import shape_of
from tests.bed.api import Api
from tests.bed.bed import Bed
from tests.differential.go_phrases import without_go
from tests.differential.patch_cases import (
    CONFIG_START,
    CONFIG_STEPS,
    DEPLOYMENT_START,
    DEPLOYMENT_STEPS,
    Step,
    Tree,
)
from tests.differential.patch_sequences import SEQUENCES
from tests.differential.tree_differences import differences

NAMESPACE = f"patches-{uuid.uuid4().hex[:8]}"
NOW = 1_790_000_000.0
MEDIA = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
PLURALS = {
    "ConfigMap": "configmaps",
    "Deployment": "deployments",
    "Job": "jobs",
    "Node": "nodes",
    "Pod": "pods",
}


@pytest.fixture(scope="module")
def api(bed_apiserver: Bed) -> Iterator[Api]:
    api = bed_apiserver.api()
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    api.create("/api/v1/namespaces", namespace)
    yield api
    for node in api.items("/api/v1/nodes"):
        if node["metadata"]["name"].startswith(NAMESPACE):
            api.delete(f"/api/v1/nodes/{node['metadata']['name']}")


def _base(tree: Tree) -> str:
    version = tree["apiVersion"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    plural = PLURALS[tree["kind"]]
    return f"{root}/{plural}" if plural == "nodes" else f"{root}/namespaces/{NAMESPACE}/{plural}"


def _named(tree: Any, name: str) -> Any:
    text = json.dumps(tree).replace("NAMESPACE", NAMESPACE).replace("NAME", name)
    return json.loads(text)


def _with_name(tree: Tree, name: str) -> Tree:
    place = {} if tree["kind"] == "Node" else {"namespace": NAMESPACE}
    return {**tree, "metadata": {**tree.get("metadata", {}), "name": name, **place}}


def _completed(tree: Tree) -> Tree:
    kind = built_in().by_kind(tree["apiVersion"], tree["kind"])
    assert kind is not None
    for complete in kind.complete:
        tree = complete(tree)
    return tree


def _checked(tree: Tree, old: Tree) -> Tree:
    kind = built_in().by_kind(tree["apiVersion"], tree["kind"])
    assert kind is not None
    if causes := [cause for check in kind.checks for cause in check(tree, old)]:
        raise invalid(kind.resource, tree["metadata"]["name"], causes)
    return tree


def ours(live: Tree, step: Step) -> Tree:
    """The step on the functions of the sim, put together as the server does."""
    kind, patch, options = step
    group, _, version = live["apiVersion"].rpartition("/")
    shape = shape_of(group, version, live["kind"])
    assert shape is not None
    sub, manager = options.get("sub", ""), options.get("manager", "tester")
    if kind == "apply":
        done = apply(live, patch, manager, options.get("force", False), shape, NOW, subresource=sub)
        return done if done is live else _checked(_completed(done), live)
    if kind == "strategic":
        new = strategic(live, patch, shape)
    else:
        new = merge(live, patch) if kind == "merge" else json_patch(live, patch)
    new, _ = accepted_patch(new, shape, options.get("validation", "Strict"))
    new = _completed(new)
    if not sub:
        new = {**new, **({"status": live["status"]} if "status" in live else {})}
    else:
        new = {**live, "status": new["status"]}
    if not sub:
        _checked(new, live)
    return update_managed(live, new, manager, "Update", sub, NOW, shape)


def _plain(tree: Any, key: str = "") -> Any:
    """Without what counts up or tells the time."""
    if isinstance(tree, dict):
        return {
            name: _plain(item, name)
            for name, item in tree.items()
            if name not in ("resourceVersion", "generation", "time")
        }
    if isinstance(tree, list):
        items = [_plain(item) for item in tree]
        # Their order is told by times, and those are not compared.
        return sorted(items, key=_who) if key == "managedFields" else items
    return tree


def _who(entry: Tree) -> tuple[str, str, str]:
    return entry["operation"], entry["manager"], entry.get("subresource", "")


def _sentence(text: str) -> str:
    # An object is shown with the names that its fields have in Go: not modelled.
    text = re.sub(r"Invalid value: \{.*\}: field is", "Invalid value: {}: field is", text, flags=re.DOTALL)
    return without_go(text)


def _compare(api: Api, path: str, live: Tree, step: Step) -> Tree:
    kind, patch, options = step
    query = [
        ("fieldManager", options.get("manager", "tester")),
        ("fieldValidation", options.get("validation", "Strict")),
    ]
    if options.get("force"):
        query.append(("force", "true"))
    sub = f"/{options['sub']}" if "sub" in options else ""
    name = live["metadata"]["name"]
    if kind == "apply":
        patch = _with_name(patch, name)
    reply = api.request("PATCH", f"{path}/{name}{sub}", patch, query=query, content_type=MEDIA[kind])
    real = reply.json()
    try:
        mine = ours(live, (kind, patch, options))
    except PortError as refused:
        said = (refused.status, refused.reason, _sentence(refused.message))
        assert said == (reply.status, real.get("reason") or "", _sentence(real.get("message", "")))
        causes = (real.get("details") or {}).get("causes") or []
        # The real server names some fields twice, once for each of its two ways to validate.
        assert {c.get("field", "") for c in refused.causes} == {c.get("field", "") for c in causes}
        return live
    assert reply.status < 300, f"the real server refuses: {real['message']}"
    assert differences(_plain(mine), _plain(real)) == []
    return real


_numbers = itertools.count()


def _created(api: Api, start: Tree) -> tuple[str, Tree]:
    name = f"{NAMESPACE}-{next(_numbers)}"
    path = _base(start)
    tree = _with_name(_named(start, name), name)
    reply = api.request("POST", path, tree, query=[("fieldManager", "maker")])
    return path, reply.checked().json()


def _ids(steps: list[Step]) -> list[str]:
    return [f"{n:02}-{kind}" for n, (kind, _, _) in enumerate(steps)]


@pytest.mark.real
@pytest.mark.parametrize("step", CONFIG_STEPS, ids=_ids(CONFIG_STEPS))
def test_a_patch_of_a_config_map(api: Api, step: Step) -> None:
    path, live = _created(api, CONFIG_START)
    _compare(api, path, live, step)


@pytest.mark.real
@pytest.mark.parametrize("step", DEPLOYMENT_STEPS, ids=_ids(DEPLOYMENT_STEPS))
def test_a_patch_of_a_deployment(api: Api, step: Step) -> None:
    path, live = _created(api, DEPLOYMENT_START)
    _compare(api, path, live, step)


@pytest.mark.real
@pytest.mark.parametrize("story", sorted(SEQUENCES))
def test_a_sequence_of_patches(api: Api, story: str) -> None:
    start, steps = SEQUENCES[story]
    path, live = _created(api, start)
    for step in steps:
        live = _compare(api, path, live, step)


def test_there_are_more_than_a_hundred_patches() -> None:
    assert len(CONFIG_STEPS) + len(DEPLOYMENT_STEPS) + sum(len(s) for _, s in SEQUENCES.values()) > 100
