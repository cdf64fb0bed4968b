"""What a request is about, read off its path."""

from collections.abc import Mapping

import msgspec

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}


class FaultTarget(msgspec.Struct, frozen=True):
    """`kind` is what rules call it: `pods`, `pods/log`, `workloads.kueue.x-k8s.io`; "" for no resource."""

    verb: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""


def target_of(method: str, path: str, query: Mapping[str, str]) -> FaultTarget:
    """Verb, kind, namespace and name, as kube-apiserver reads them; of other paths the method only."""
    parts = [part for part in path.split("/") if part]
    group = ""
    if parts[:1] == ["api"] and len(parts) > 2:
        rest = parts[2:]
    elif parts[:1] == ["apis"] and len(parts) > 3:
        group, rest = parts[1], parts[3:]
    else:
        return FaultTarget(method.lower())
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource = (*rest, "", "")[:3]
    kind = f"{plural}.{group}" if group else plural
    if subresource:
        kind += f"/{subresource}"
    return FaultTarget(_verb(method, name, query), kind, namespace, name)


def _verb(method: str, name: str, query: Mapping[str, str]) -> str:
    if method == "GET":
        if query.get("watch") in ("1", "true"):
            return "watch"
        return "get" if name else "list"
    if method == "DELETE":
        return "delete" if name else "deletecollection"
    return _VERBS.get(method, method.lower())
