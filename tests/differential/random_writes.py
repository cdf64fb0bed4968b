"""Seeded random sequences of requests, made of the objects of `random_objects`.

A step is (method, path, body, options) as in `write_stories`; a body that is bytes is sent as it is. Options:
`query`, `type`, and `pages` for a list that is read page by page.
"""

import copy
import json
from random import Random
from typing import Any

from tests.differential.random_objects import META, SORTS, UNKNOWN, WRONG, Sort, Tree

Step = tuple[str, str, Any, Tree]

LENGTH = 24
MANAGERS = ("ann", "ben")
_PATCHES = {
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "json": "application/json-patch+json",
    "apply": "application/apply-patch+yaml",
}
_LABELS = (
    "app=x", "app!=x", "app in (x,y)", "tier", "!tier", "app=x,tier>1", "app notin (y)", "a b", "app in x",
)  # fmt: skip
_RAW = (b"", b"{", b"[]", b"null", b"7", b'{"metadata":{"name":"w","name":"w"}}', b"kind: Pod\n", b"\xff\xfe")
_TYPES = (
    "text/plain",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/merge-patch+json",
    "",
)


def sequence(seed: int) -> list[Step]:
    """The requests of a seed."""
    dice = Random(seed)
    # Few kinds in a sequence: they meet each other more often.
    sorts = dice.sample(SORTS, 5)
    if dice.random() < 0.7 and SORTS[0] not in sorts:
        sorts[0] = SORTS[0]
    begin = [_create(dice, sort, sort.names[0], is_plain=True) for sort in sorts]
    return begin + [_step(dice, dice.choice(sorts)) for _ in range(LENGTH)]


def _step(dice: Random, sort: Sort) -> Step:
    makers = [
        (14, _created), (8, _put), (22, _patched), (6, _status), (4, _scale), (12, _deleted),
        (2, _collection), (5, _pod_only), (5, _listed), (3, _pages),
        (4, _got), (2, _watched), (5, _unfinal), (4, _raw),
    ]  # fmt: skip
    make = dice.choices([maker for _, maker in makers], [weight for weight, _ in makers])[0]
    return make(dice, sort)


def _name(dice: Random, sort: Sort) -> str:
    return dice.choice(sort.names) if dice.random() < 0.96 else "never-NS"


def merged(tree: Any, part: Any) -> Any:
    """A part laid over a tree, maps into maps."""
    if not isinstance(tree, dict) or not isinstance(part, dict):
        return copy.deepcopy(part)
    return {key: merged(tree.get(key), part[key]) if key in part else tree[key] for key in {**tree, **part}}


def _parts(dice: Random, sort: Sort) -> Tree:
    """Nought to three fragments, laid over each other."""
    tree: Tree = {}
    for _ in range(dice.choice((0, 1, 1, 2, 3))):
        tree = merged(tree, dice.choice(sort.fragments))
    if dice.random() < 0.35:
        good = META[:9] if dice.random() < 0.8 else META
        tree = merged(tree, dice.choice(good))
    if dice.random() < 0.06:
        strange = dice.choice(UNKNOWN)
        if sort.kind != "LimitRange" or strange != {"metadata": {"name": ""}}:
            tree = merged(tree, strange)
    return tree


def _whole(dice: Random, sort: Sort, name: str, *, is_plain: bool = False) -> Tree:
    tree: Tree = {"apiVersion": sort.version, "kind": sort.kind, "metadata": {"name": name}}
    tree = merged(tree, sort.base)
    part = _parts(dice, sort)
    if is_plain:
        part = dice.choice(sort.fragments[:2]) if dice.random() < 0.3 else {}
    if dice.random() < 0.03 and not sort.is_custom:
        part = merged(part, dice.choice(WRONG))
    return merged(tree, part)  # type: ignore[no-any-return]


def _query(dice: Random) -> Tree:
    query: Tree = {}
    if dice.random() < 0.5:
        query["fieldManager"] = dice.choice(MANAGERS)
    if dice.random() < 0.12:
        query["dryRun"] = "All" if dice.random() < 0.9 else "Some"
    if dice.random() < 0.25:
        query["fieldValidation"] = dice.choice(("Ignore", "Warn", "Strict", "Strict", "Odd"))
    return query


def _create(dice: Random, sort: Sort, name: str, *, is_plain: bool = False) -> Step:
    body = _whole(dice, sort, name, is_plain=is_plain)
    if sort.is_generated and dice.random() < 0.3 and isinstance(body["metadata"], dict) and not is_plain:
        body["metadata"].pop("name", None)
        body["metadata"]["generateName"] = "drawn-"
    return ("POST", sort.path, body, {"query": {} if is_plain else _query(dice)})


def _created(dice: Random, sort: Sort) -> Step:
    return _create(dice, sort, _name(dice, sort))


def _versioned(dice: Random, sort: Sort, name: str, tree: Tree) -> Tree:
    chance = dice.random()
    if not isinstance(tree.get("metadata", {}), dict):
        return tree
    label = f"{sort.kind}/{name}"
    if chance < 0.3:
        return merged(tree, {"metadata": {"resourceVersion": f"{{{label}.version}}"}})  # type: ignore[no-any-return]
    if chance < 0.4:
        return merged(tree, {"metadata": {"resourceVersion": f"{{{label}.first}}"}})  # type: ignore[no-any-return]
    if chance < 0.45:
        return merged(tree, {"metadata": {"uid": f"{{{label}.uid}}"}})  # type: ignore[no-any-return]
    return tree


def _put(dice: Random, sort: Sort) -> Step:
    name = _name(dice, sort)
    if dice.random() < 0.6 or sort.kind == "Job":
        # Read, changed and written back, as clients do; a job's selector is the server's to know.
        head = merged({"apiVersion": sort.version, "kind": sort.kind, "metadata": {"name": name}}, sort.base)
        over = {"query": _query(dice), "over": f"{sort.kind}/{name}", "head": head}
        return ("PUT", f"{sort.path}/{name}", _parts(dice, sort), over)
    tree = _versioned(dice, sort, name, _whole(dice, sort, name))
    return ("PUT", f"{sort.path}/{name}", tree, {"query": _query(dice)})


def _nulled(dice: Random, tree: Any) -> Any:
    """With a leaf now and then taken away."""
    if isinstance(tree, dict) and tree:
        return {key: None if dice.random() < 0.12 else _nulled(dice, tree[key]) for key in tree}
    return tree


def _operations(dice: Random, tree: Tree) -> list[Tree]:
    """A JSON patch that says what a fragment says, or something like it."""
    found: list[Tree] = []
    for key in tree:
        value = tree[key]
        deep = isinstance(value, dict) and value and dice.random() < 0.7
        for path, leaf in (
            ((f"/{key}/{one.replace('/', '~1')}", value[one]) for one in value)
            if deep
            else ((f"/{key}", value),)
        ):
            how = dice.choices(("add", "replace", "remove", "test", "copy", "odd"), (10, 6, 4, 2, 1, 1))[0]
            one: Tree = {"op": how, "path": path}
            if how in ("add", "replace", "test", "odd"):
                one["value"] = leaf
            if how == "copy":
                one["from"] = "/metadata/labels/app"
            found.append(one)
    return found


def _patch(dice: Random, sort: Sort, path: str, name: str, tree: Tree) -> Step:
    query = _query(dice)
    how = dice.choice(("merge", "merge", "strategic", "json", "apply", "apply"))
    if sort.kind == "Service" and path.endswith("/status") and how == "apply":
        how = "merge"
    body: Any = tree
    if how in ("merge", "strategic"):
        body = _nulled(dice, tree)
    elif how == "json":
        body = _operations(dice, tree)
    else:
        head = {"apiVersion": sort.version, "kind": sort.kind, "metadata": {"name": name}}
        base = sort.base if dice.random() < 0.6 else {}
        body = merged(merged(head, base), tree)
        if dice.random() < 0.95:
            query["fieldManager"] = dice.choice(MANAGERS)
        if dice.random() < 0.35:
            query["force"] = "true"
    if how != "json":
        body = _versioned(dice, sort, name, body) if dice.random() < 0.3 else body
    return ("PATCH", path, body, {"query": query, "type": _PATCHES[how]})


def _patched(dice: Random, sort: Sort) -> Step:
    name = _name(dice, sort)
    return _patch(dice, sort, f"{sort.path}/{name}", name, _parts(dice, sort))


def _status(dice: Random, sort: Sort) -> Step:
    name = _name(dice, sort)
    tree: Tree = {"status": dice.choice(sort.status)} if sort.status else {"status": {}}
    if sort.status and dice.random() < 0.5:
        tree = merged(tree, {"status": dice.choice(sort.status)})
    if dice.random() < 0.2:
        tree = merged(tree, _parts(dice, sort))
    path = f"{sort.path}/{name}/status"
    if dice.random() < 0.2 and sort.kind != "Service":
        head = {"apiVersion": sort.version, "kind": sort.kind, "metadata": {"name": name}}
        body = _versioned(dice, sort, name, merged(merged(head, sort.base), tree))
        return ("PUT", path, body, {"query": _query(dice)})
    return _patch(dice, sort, path, name, tree)


def _scale(dice: Random, sort: Sort) -> Step:
    name = _name(dice, sort)
    path = f"{sort.path}/{name}/scale"
    if not sort.has_scale and dice.random() < 0.9:
        return _patched(dice, sort)
    count = dice.choice((4, 1, 2, 5, -1))
    match dice.choice(("get", "put", "patch", "patch")):
        case "get":
            return ("GET", path, None, {})
        case "put":
            tree = {
                "apiVersion": "autoscaling/v1",
                "kind": "Scale",
                "metadata": {"name": name, "namespace": "NS"},
                "spec": {"replicas": count},
            }
            return ("PUT", path, _versioned(dice, sort, name, tree), {"query": _query(dice)})
        case _:
            body: Tree = {"spec": {"replicas": count}}
            query = _query(dice)
            how = dice.choice(("merge", "json", "merge"))
            if how == "json":
                return (
                    "PATCH",
                    path,
                    [{"op": "replace", "path": "/spec/replicas", "value": count}],
                    {"query": query, "type": _PATCHES[how]},
                )
            return ("PATCH", path, body, {"query": query, "type": _PATCHES[how]})


def _delete_options(dice: Random, label: str) -> Any:
    if dice.random() < 0.35:
        return None
    tree: Tree = {"apiVersion": "v1", "kind": "DeleteOptions"}
    if dice.random() < 0.4:
        tree["gracePeriodSeconds"] = dice.choice((0, 0, 1, 10, 60, -1))
    if dice.random() < 0.4:
        tree["propagationPolicy"] = dice.choice(("Background", "Foreground", "Orphan", "Odd"))
    if dice.random() < 0.3:
        tree["preconditions"] = dice.choice(
            (
                {"uid": f"{{{label}.uid}}"},
                {"uid": "another"},
                {"resourceVersion": f"{{{label}.version}}"},
                {"resourceVersion": f"{{{label}.first}}"},
            )
        )
    if dice.random() < 0.08:
        tree["dryRun"] = ["All"]
    if dice.random() < 0.05:
        tree["orphanDependents"] = dice.choice((True, False))
    return tree


def _deleted(dice: Random, sort: Sort) -> Step:
    name = _name(dice, sort)
    query: Tree = {}
    body = _delete_options(dice, f"{sort.kind}/{name}")
    if body is None and dice.random() < 0.4:
        query = dice.choice(
            (
                {"gracePeriodSeconds": "0"},
                {"propagationPolicy": "Foreground"},
                {"dryRun": "All"},
                {"gracePeriodSeconds": "5"},
            )
        )
    return ("DELETE", f"{sort.path}/{name}", body, {"query": query})


def _collection(dice: Random, sort: Sort) -> Step:
    if sort.is_generated or not sort.path.endswith(sort.kind.lower() + "s") or sort.kind == "Node":
        return _listed(dice, sort)
    query = {"labelSelector": dice.choice(_LABELS[:7])}
    if dice.random() < 0.3:
        query["dryRun"] = "All"
    return ("DELETE", sort.path, _delete_options(dice, "none/none"), {"query": query})


def _pod_only(dice: Random, sort: Sort) -> Step:
    name = dice.choice(("p1", "p2", "p3"))
    query = {"dryRun": "All"} if dice.random() < 0.15 else {}
    if dice.random() < 0.5:
        tree: Tree = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": "NS"},
        }
        if dice.random() < 0.4:
            inner: Tree = _delete_options(dice, f"Pod/{name}") or {}
            if inner.get("propagationPolicy") == "Odd":
                del inner["propagationPolicy"]
            tree["deleteOptions"] = inner
        return ("POST", f"C/pods/{name}/eviction", tree, {"query": query})
    target = {"kind": "Node", "name": dice.choice(("n1-NS", "n2-NS", ""))}
    metadata = {"name": name}
    if dice.random() < 0.2:
        metadata["uid"] = dice.choice(("{Pod/p1.uid}", "{Pod/p2.uid}"))
    if dice.random() < 0.2:
        metadata["annotations"] = {"placed": "yes"}  # type: ignore[assignment]
    tree = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
    return ("POST", f"C/pods/{name}/binding", tree, {"query": query})


def _selected(dice: Random, sort: Sort) -> Tree:
    query: Tree = {}
    if sort.kind == "Node":
        query["labelSelector"] = "space=NS"
        if dice.random() < 0.5:
            query["labelSelector"] += "," + dice.choice(_LABELS)
    elif dice.random() < 0.6:
        query["labelSelector"] = dice.choice(_LABELS)
    if sort.selectors and dice.random() < 0.5:
        query["fieldSelector"] = dice.choice(sort.selectors)
    return query


def _listed(dice: Random, sort: Sort) -> Step:
    return ("GET", sort.path, None, {"query": _selected(dice, sort)})


def _pages(dice: Random, sort: Sort) -> Step:
    if sort.is_generated or sort.kind == "Node":
        return _listed(dice, sort)
    query = {"limit": dice.choice(("1", "2", "3")), **(_selected(dice, sort) if dice.random() < 0.3 else {})}
    return ("GET", sort.path, None, {"query": query, "pages": True})


def _got(dice: Random, sort: Sort) -> Step:
    accept = {"accept": _TABLE} if dice.random() < 0.3 and not sort.is_generated else {}
    return ("GET", f"{sort.path}/{_name(dice, sort)}", None, accept)


_TABLE = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


def _watched(dice: Random, sort: Sort) -> Step:
    query: Tree = {"watch": "1", "timeoutSeconds": "1"}
    chance = dice.random()
    name = dice.choice(sort.names)
    if chance < 0.3:
        query["resourceVersion"] = f"{{{sort.kind}/{name}.first}}"
    elif chance < 0.6:
        query["resourceVersion"] = f"{{{sort.kind}/{name}.version}}"
    elif chance < 0.8:
        query |= {
            "sendInitialEvents": "true",
            "resourceVersionMatch": "NotOlderThan",
            "allowWatchBookmarks": "true",
        }
    if dice.random() < 0.5 or sort.kind == "Node":
        query |= _selected(dice, sort)
    return ("GET", sort.path, None, {"query": query})


def _unfinal(dice: Random, sort: Sort) -> Step:
    return (
        "PATCH",
        f"{sort.path}/{_name(dice, sort)}",
        {"metadata": {"finalizers": None}},
        {"type": _PATCHES["merge"], "query": {}},
    )


def _raw(dice: Random, sort: Sort) -> Step:
    """Bodies that are none, and bodies under a false flag."""
    name = _name(dice, sort)
    method, path = dice.choice(
        (("POST", sort.path), ("PUT", f"{sort.path}/{name}"), ("PATCH", f"{sort.path}/{name}"))
    )
    kind = dice.choice(tuple(_PATCHES.values())) if method == "PATCH" else "application/json"
    if dice.random() < 0.3:
        kind = dice.choice(_TYPES[:2] + _TYPES[3:] if sort.is_custom else _TYPES)
        return (method, path, json.dumps(_whole(dice, sort, name)).encode(), {"type": kind, "query": {}})
    return (
        method,
        path,
        dice.choice(_RAW[:3] + _RAW[4:] if method == "PATCH" else _RAW),
        {"type": kind, "query": {"fieldManager": "ann"}},
    )
