"""What a path asks for, in the terms of RBAC (apiserver `pkg/endpoints/request/requestinfo.go`)."""

from collections.abc import Mapping
from urllib.parse import unquote

import msgspec

from cockpit.sim.server.rbac.attributes import Attributes

_VERBS = {
    "GET": "get",
    "HEAD": "get",
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
_OF_NAMESPACES = frozenset({"status", "finalize"})


class RequestTarget(msgspec.Struct, frozen=True):
    """A request's target. `path` is set for what is no resource; `rest` is what follows a `proxy`."""

    verb: str
    path: str = ""
    group: str = ""
    version: str = ""
    plural: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    rest: str = ""
    selected_name: str = ""
    """The name in `fieldSelector=metadata.name=...`: rights to one name allow to list and watch just that."""

    @property
    def attributes(self) -> Attributes:
        """As an authoriser takes it."""
        if self.path:
            return Attributes(self.verb, path=self.path)
        return Attributes(
            verb=self.verb,
            group=self.group,
            resource=self.plural,
            subresource=self.subresource,
            namespace=self.namespace,
            name=self.name or self.selected_name,
        )

    @property
    def is_resource(self) -> bool:
        """True for a request for a resource of the API."""
        return not self.path


def is_true(text: str | None) -> bool:
    """A boolean of a query, as Go reads one."""
    return text is not None and text.lower() not in ("0", "f", "false")


def target_of(method: str, raw_path: str, query: Mapping[str, str]) -> RequestTarget:
    """The target of a request; `raw_path` is still percent-encoded."""
    verb = _VERBS.get(method, method.lower())
    pieces = [piece for piece in raw_path.split("/") if piece]
    parts = [unquote(piece) for piece in pieces]
    begin = {"api": 2, "apis": 3}.get(parts[0] if parts else "", 0)
    if not begin or len(parts) <= begin:
        return RequestTarget(verb if method in _VERBS else method.lower(), path=unquote(raw_path) or "/")
    group, version = ("", parts[1]) if begin == 2 else (parts[1], parts[2])
    namespace, rest = "", parts[begin:]
    at = begin
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in _OF_NAMESPACES:
            rest, at = rest[2:], begin + 2
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 else ""
    behind = "/".join(pieces[at + 3 :])
    if behind and raw_path.endswith("/"):
        behind += "/"
    return RequestTarget(
        verb if name else _of_collection(verb, query),
        "",
        group,
        version,
        rest[0],
        namespace,
        name,
        subresource if subresource == "proxy" or not behind else f"{subresource}/{behind}",
        behind if subresource == "proxy" else "",
        "" if name else _selected(query.get("fieldSelector", "")),
    )


def _of_collection(verb: str, query: Mapping[str, str]) -> str:
    if verb == "get":
        return "watch" if is_true(query.get("watch")) else "list"
    return "deletecollection" if verb == "delete" else verb


def _selected(fields: str) -> str:
    for one in fields.split(","):
        key, _, value = one.replace("==", "=").partition("=")
        if key.strip() == "metadata.name" and not key.endswith("!"):
            return value.strip()
    return ""
