"""Requests to an API server that nobody means well with: drawn from a seed, one after the other."""

import base64
import gzip
from random import Random
from typing import Any
from urllib.parse import quote

import msgspec

from tests.fuzz import trees
from tests.fuzz.bodies import deep_json, is_shallow, laughs, operations
from tests.fuzz.sent import ACCEPTS, ACTED_ON, JSON, PATCHES, PROTOBUF, TYPES, USERS, YAML, Resource, Sent
from tests.fuzz.trees import Tree


class Grammar:
    """Draws requests. `known` are real objects by resource; what is created is remembered by name."""

    def __init__(self, seed: int, known: dict[Resource, list[Tree]]) -> None:
        self._dice = Random(seed)
        self._known = known
        self._resources = list(known)
        self._names: dict[Resource, list[str]] = {}
        self._definitions: list[Tree] = []

    def next(self) -> Sent:
        """The next request."""
        dice = self._dice
        match dice.randrange(20):
            case 0 | 1 | 2 | 3:
                sent = self._create()
            case 4 | 5 | 6 | 7 | 8:
                sent = self._patch()
            case 9 | 10:
                sent = self._replace()
            case 11 | 12 | 13:
                sent = self._read()
            case 14:
                sent = self._delete()
            case 15:
                sent = self._subresource()
            case 16:
                sent = self._define()
            case 17:
                sent = self._custom()
            case 18:
                sent = self._review()
            case _:
                sent = self._anything()
        return self._garnished(sent)

    def _resource(self) -> Resource:
        """Mostly one that some actor acts on."""
        acted = [one for one in self._resources if one.plural in ACTED_ON]
        return self._dice.choice(acted if acted and self._dice.random() < 0.6 else self._resources)

    def _example(self, resource: Resource) -> Tree:
        known = self._known[resource]
        if not known:
            return {"apiVersion": _version(resource), "kind": resource.kind, "metadata": {"name": "x"}}
        return trees.clean(self._dice.choice(known))

    def _named(self, resource: Resource) -> tuple[str, str]:
        """Namespace and name of something, there or not."""
        dice = self._dice
        known = self._known[resource]
        if known and dice.random() < 0.7:
            metadata = dice.choice(known)["metadata"]
            return str(metadata.get("namespace", "")), str(metadata.get("name", ""))
        made = self._names.get(resource)
        return "default", dice.choice(made[-20:] if made and dice.random() < 0.9 else ["x", *trees.ODD_TEXTS])

    def _path(self, resource: Resource, namespace: str, name: str = "", more: str = "") -> str:
        place = f"/namespaces/{quote(namespace, safe='')}" if resource.namespaced and namespace else ""
        tail = f"/{quote(name, safe='')}" if name else ""
        return f"{resource.prefix}{place}/{resource.plural}{tail}{more}"

    def _create(self) -> Sent:
        resource = self._resource()
        tree = self._example(resource)
        metadata = tree.setdefault("metadata", {})
        metadata["name"] = name = f"fuzz-{self._dice.randrange(40)}"
        namespace = "default" if resource.namespaced else ""
        if resource.namespaced:
            metadata["namespace"] = namespace
        self._names.setdefault(resource, []).append(name)
        return self._write("POST", self._path(resource, namespace), trees.spoiled(self._dice, tree))

    def _replace(self) -> Sent:
        resource = self._resource()
        known = self._known[resource]
        tree = self._dice.choice(known) if known else self._example(resource)
        metadata = tree.get("metadata") or {}
        more = self._dice.choice(("", "", "", "", "/status", "/scale"))
        path = self._path(resource, str(metadata.get("namespace", "")), str(metadata.get("name", "x")), more)
        return self._write("PUT", path, trees.spoiled(self._dice, tree))

    def _write(self, method: str, path: str, tree: Any) -> Sent:
        kind, body = self._encoded(tree)
        query = self._query(("dryRun", "fieldManager", "fieldValidation", "pretty"))
        return Sent(method, path + query, [("Content-Type", kind)], body)

    def _encoded(self, tree: Any) -> tuple[str, bytes]:
        dice = self._dice
        kind = dice.choice(TYPES)
        body = msgspec.json.encode(tree) if is_shallow(tree) else deep_json(tree)
        chance = dice.random()
        if chance < 0.03:
            return YAML, dice.choice(
                (laughs(dice), b"a: &a [*a]", b"- " * dice.choice((50, 5000)), b"? " * 3000)
            )
        if chance < 0.06:
            return kind, dice.choice(
                (b"[" * 100_000, b'{"a":' * 100_000, b"{" + b'"a":1,' * 50_000 + b'"a":2}')
            )
        if chance < 0.09:
            return PROTOBUF, b"k8s\x00" + dice.randbytes(dice.choice((0, 5, 200)))
        if chance < 0.14:
            return kind, self._damaged(body)
        if chance < 0.16:
            return kind, body + b" " * (3 << 20)
        return kind, body

    def _damaged(self, body: bytes) -> bytes:
        dice = self._dice
        data = bytearray(body or b"x")
        for _ in range(dice.choice((1, 3, 30))):
            at = dice.randrange(len(data))
            data[at : at + dice.randrange(2)] = dice.randbytes(1)
            data = data or bytearray(b"x")
        return bytes(data[: dice.randrange(len(data)) + 1] if dice.random() < 0.3 else data)

    def _patch(self) -> Sent:
        dice, resource = self._dice, self._resource()
        namespace, name = self._named(resource)
        path = self._path(
            resource, namespace, name, dice.choice(("", "", "", "", "", "", "/status", "/scale"))
        )
        kind = dice.choice(PATCHES)
        example = self._example(resource)
        if kind == PATCHES[0]:
            body = msgspec.json.encode(operations(dice, example))
        else:
            part = trees.spoiled(dice, example)
            if isinstance(part.get("metadata"), dict):
                part["metadata"]["name"] = name if dice.random() < 0.9 else "other"
            if dice.random() < 0.3:
                part = {"metadata": {"annotations": {"big": "x" * dice.choice((10, 300_000, 1_500_000))}}}
            body = msgspec.json.encode(part) if is_shallow(part) else deep_json(part)
            if dice.random() < 0.05:
                body = self._damaged(body)
            if kind == PATCHES[3] and dice.random() < 0.1:
                body = laughs(dice)
        query = self._query(("dryRun", "fieldManager", "force", "fieldValidation"))
        if kind == PATCHES[3] and "fieldManager" not in query and dice.random() < 0.9:
            query = f"{query}{'&' if query else '?'}fieldManager=f{dice.randrange(30)}"
        return Sent("PATCH", path + query, [("Content-Type", kind)], body)

    def _read(self) -> Sent:
        dice, resource = self._dice, self._resource()
        if dice.random() < 0.5:
            namespace, name = self._named(resource)
            return Sent(dice.choice(("GET", "GET", "HEAD")), self._path(resource, namespace, name), [])
        names = (
            "limit",
            "continue",
            "labelSelector",
            "fieldSelector",
            "resourceVersion",
            "resourceVersionMatch",
        )
        query = self._query((*names, "includeObject", "pretty"))
        place = dice.choice(("", "default", "team-a", "nowhere"))
        return Sent("GET", self._path(resource, place) + query, [])

    def _query(self, names: tuple[str, ...]) -> str:
        dice = self._dice
        pairs = []
        for name in names:
            while dice.random() < 0.12:
                pairs.append(f"{name}={quote(self._option(name), safe='')}")
        if dice.random() < 0.01:
            pairs += ["dryRun=All"] * 500
        return f"?{'&'.join(pairs)}" if pairs else ""

    def _option(self, name: str) -> str:
        dice = self._dice
        good = {
            "dryRun": ("All",),
            "fieldValidation": ("Strict", "Warn", "Ignore"),
            "force": ("true", "false"),
            "limit": ("1", "2", "-1", "99999999999999999999"),
            "resourceVersion": ("0", "1", "99999999999", "5"),
            "resourceVersionMatch": ("Exact", "NotOlderThan"),
            "labelSelector": (
                "a=b",
                "a in (b,c)",
                "!a",
                "a>1",
                ",",
                "(",
                "a in (" + "b," * 2000 + "c)",
                "a=b," * 900,
            ),
            "fieldSelector": (
                "metadata.name=x",
                "spec.nodeName=",
                "a=b",
                "=",
                "\\",
                "metadata.name=x," * 400,
            ),
            "fieldManager": ("me", "x" * 129, "kubectl"),
            "continue": (
                base64.urlsafe_b64encode(b'{"v":"meta.k8s.io/v1","rv":1,"start":"a"}').decode(),
                base64.urlsafe_b64encode(b'{"rv":-99999999999999999999,"start":"a"}').decode(),
                base64.urlsafe_b64encode(b"[" * 3000).decode(),
            ),
        }.get(name, ("Object", "None", "Metadata", "1"))
        return dice.choice(good) if dice.random() < 0.7 else dice.choice(trees.ODD_TEXTS)

    def _delete(self) -> Sent:
        dice, resource = self._dice, self._resource()
        if dice.random() < 0.1:
            query = f"?labelSelector={dice.choice(('fuzz=x', 'a in (b)', '!a,b'))}"
            return Sent("DELETE", self._path(resource, "default") + query, [])
        path = self._path(resource, "default", dice.choice(self._names.get(resource) or ["x"]))
        if dice.random() < 0.5:
            return Sent(
                "DELETE", path + self._query(("dryRun", "propagationPolicy", "gracePeriodSeconds")), []
            )
        options = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "gracePeriodSeconds": dice.choice((0, 1, -1, None, "x", 10**30)),
            "propagationPolicy": dice.choice(("Foreground", "Orphan", "x", None, 1)),
            "preconditions": dice.choice(({"uid": "x"}, {}, None, [], {"resourceVersion": "1"})),
            "dryRun": dice.choice((["All"], [], None, "All", [1])),
        }
        return self._write("DELETE", path, trees.spoiled(dice, options))

    def _subresource(self) -> Sent:
        dice = self._dice
        pods = next(one for one in self._resources if one.plural == "pods")
        resource = dice.choice((pods, pods, self._resource()))
        namespace, name = self._named(resource)
        what = dice.choice(
            (
                "log",
                "exec",
                "attach",
                "portforward",
                "eviction",
                "binding",
                "proxy",
                "proxy/x",
                "ephemeralcontainers",
                "x",
                "status/x",
            )
        )
        path = self._path(resource, namespace, name, f"/{what}")
        if what in ("eviction", "binding"):
            metadata = {"name": name, "namespace": namespace}
            tree: Tree = {"metadata": metadata, "target": {"name": "x"}, "deleteOptions": {"dryRun": ["All"]}}
            return self._write("POST", path, trees.spoiled(dice, tree))
        names = (
            "container",
            "tailLines",
            "sinceSeconds",
            "sinceTime",
            "limitBytes",
            "stream",
            "previous",
            "command",
            "ports",
        )
        return Sent(dice.choice(("GET", "GET", "POST", "PUT")), path + self._query(names), [])

    def _define(self) -> Sent:
        dice = self._dice
        tree = trees.definition(dice, dice.randrange(6))
        resource = Resource(
            "/apis/apiextensions.k8s.io/v1", "customresourcedefinitions", "", namespaced=False
        )
        name = tree["metadata"]["name"]
        if dice.random() < 0.15:
            return Sent("DELETE", self._path(resource, "", name), [])
        self._definitions = [*self._definitions[-20:], tree]
        if dice.random() < 0.3:
            tree = trees.spoiled(dice, tree)
        if dice.random() < 0.3:
            return Sent(
                "PATCH",
                self._path(resource, "", name) + "?fieldManager=fuzz&force=true",
                [("Content-Type", PATCHES[3])],
                msgspec.json.encode(tree) if is_shallow(tree) else deep_json(tree),
            )
        return self._write("POST", self._path(resource, ""), tree)

    def _custom(self) -> Sent:
        dice = self._dice
        if not self._definitions:
            return self._define()
        spec = dice.choice(self._definitions)["spec"]
        names, version = spec["names"], spec["versions"][0]
        known = version["schema"]["openAPIV3Schema"]
        tree = trees.value_for(dice, known)
        tree = tree if isinstance(tree, dict) else {"spec": tree}
        name = f"fuzz-{dice.randrange(10)}"
        tree |= {"apiVersion": "fuzz.test/v1", "kind": names["kind"], "metadata": {"name": name}}
        resource = Resource(
            "/apis/fuzz.test/v1", names["plural"], names["kind"], spec["scope"] == "Namespaced"
        )
        if dice.random() < 0.4:
            tree = trees.spoiled(dice, tree)
        if dice.random() < 0.3:
            kind = dice.choice(PATCHES)
            body = operations(dice, tree) if kind == PATCHES[0] else tree
            path = self._path(resource, "default", name) + "?fieldManager=fuzz"
            data = msgspec.json.encode(body) if is_shallow(body) else deep_json(body)
            return Sent("PATCH", path, [("Content-Type", kind)], data)
        return self._write("POST", self._path(resource, "default"), tree)

    def _review(self) -> Sent:
        dice = self._dice
        kind = dice.choice(("SelfSubjectAccessReview", "SubjectAccessReview", "SelfSubjectRulesReview"))
        tree: Tree = {
            "spec": {
                "user": "x",
                "groups": ["a"],
                "namespace": "default",
                "resourceAttributes": {"verb": "get", "resource": "pods"},
            }
        }
        path = f"/apis/authorization.k8s.io/v1/{kind.lower()}s"
        return self._write("POST", path, trees.spoiled(dice, tree))

    def _anything(self) -> Sent:
        dice = self._dice
        paths = (
            *(
                "/",
                "/api",
                "/apis",
                "/version",
                "/healthz",
                "/openapi/v2",
                "/openapi/v3",
                "/openapi/v3/api/v1",
                "/metrics",
            ),
            *(
                "/api/v1/watch/pods",
                "/apis/fuzz.test/v1",
                "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/x",
            ),
            *(f"/api/v1/{quote(one, safe='')}" for one in trees.ODD_TEXTS),
            *("/api/v1/namespaces/%2e%2e/pods", "//api//v1//pods", "/%ff", "/api/v1/pods/" + "a/" * 500, "*"),
        )
        method = dice.choice(("GET", "GET", "POST", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "x"))
        return Sent(method, dice.choice(paths), [])

    def _garnished(self, sent: Sent) -> Sent:
        dice = self._dice
        sent.user = dice.choice(USERS)
        sent.headers.append(("Accept", dice.choice(ACCEPTS) if dice.random() < 0.1 else JSON))
        if dice.random() < 0.05:
            more = (
                ("Impersonate-User", dice.choice(("nobody", "", "system:admin", "é"))),
                ("Impersonate-Group", "system:masters"),
                ("Impersonate-Extra-x", "y"),
                ("Accept-Encoding", "gzip"),
                ("Content-Encoding", "gzip"),
                ("Audit-ID", "x" * dice.choice((10, 100))),
                ("If-None-Match", '"x"'),
                ("Expect", "100-continue"),
                ("X-Long", "y" * 7000),
                ("User-Agent", dice.choice(("", "/", "x" * 500, "kubectl/é"))),
                ("Upgrade", dice.choice(("websocket", "SPDY/3.1", "h2c"))),
            )
            sent.headers += dice.sample(more, 2)
            if ("Content-Encoding", "gzip") in sent.headers and dice.random() < 0.5:
                sent.body = (
                    gzip.compress(b" " * (50 << 20), mtime=0)
                    if dice.random() < 0.2
                    else gzip.compress(sent.body, mtime=0)
                )
        return sent


def _version(resource: Resource) -> str:
    return resource.prefix.removeprefix("/apis/").removeprefix("/api/")
