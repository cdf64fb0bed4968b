"""What may leave this process at all. Below every screen and command: nothing can be sent around it.

Secrets are refused in every mode. In read-only mode only reading passes: GET and HEAD of objects and logs,
access reviews, server dry runs, and through the proxy the metrics and query paths of exporters and
Prometheus and the alerts of an Alertmanager. A `get` on exec, attach, portforward or nodes/proxy is a way to
run commands (kubernetes.io RBAC good practices), so these count as writes.

Paths are read exactly as the API server reads them (apiserver pkg/endpoints/request/requestinfo.go); a path
that two readers could read in two ways is refused.
"""

import json
import re
from collections.abc import Sequence

import msgspec

READS = ("GET", "HEAD")
METHODS = (*READS, "POST", "PUT", "PATCH", "DELETE")
TUNNELS = ("exec", "attach", "portforward", "proxy")
CREDENTIALS = ("token",)
"""Subresources whose answer is a credential (serviceaccounts/token)."""

_PLAIN = re.compile(r"/[A-Za-z0-9._~!$&'()*+,=:@/-]*\Z")
_REVIEWS = {
    "authorization.k8s.io": ("selfsubjectaccessreviews", "selfsubjectrulesreviews"),
    "authentication.k8s.io": ("selfsubjectreviews",),
}
_NAMESPACE_SUBRESOURCES = ("status", "finalize")
_SPECIAL_VERBS = ("watch", "proxy")
_OPEN_ROOTS = ("version", "healthz", "livez", "readyz", "openapi", "metrics")
_PROXY_READS = re.compile(
    r"(?:[A-Za-z0-9._~-]+/)*(?:metrics|-/(?:ready|healthy)|api/v1/"
    r"(?:query|query_range|query_exemplars|series|labels|label/[A-Za-z0-9_:.-]+/values|targets|metadata|rules|alerts"
    r"|status/(?:buildinfo|runtimeinfo|flags|tsdb))|api/v2/alerts)\Z"
)

Query = Sequence[tuple[str, str]]


class PathMeaning(msgspec.Struct, frozen=True):
    """What an API path means; `group` is "" for core, `special` is `watch` or `proxy` (old path form)."""

    group: str = ""
    special: str = ""
    namespace: str = ""
    resource: str = ""
    name: str = ""
    subresource: str = ""
    rest: str = ""  # behind the subresource: the path inside a proxy


def read_path(path: str) -> PathMeaning | None:
    """The meaning of an API path; None for a path outside /api and /apis or without a resource."""
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) > 2:
        group, parts = "", parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, parts = parts[1], parts[3:]
    else:
        return None
    special = ""
    if parts[0].casefold() in _SPECIAL_VERBS and len(parts) > 1:
        special, parts = parts[0].casefold(), parts[1:]
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 1:
        namespace = parts[1]
        if len(parts) > 2 and parts[2] not in _NAMESPACE_SUBRESOURCES:
            parts = parts[2:]
    return PathMeaning(
        group=group,
        special=special,
        namespace=namespace,
        resource=parts[0],
        name=parts[1] if len(parts) > 1 else "",
        subresource=parts[2] if len(parts) > 2 else "",
        rest="/".join(parts[3:]),
    )


def refusal(method: str, path: str, query: Query, *, read_only: bool, body: bytes | None = None) -> str:
    """Why this request must not be sent, in one sentence; "" where it may. `body` is what would be sent."""
    verb = method.upper()
    if verb not in METHODS:
        return f"The method {method!r} is not one that the cockpit sends."
    if crooked := _crooked(path):
        return crooked
    target = read_path(path)
    if target is not None:
        if target.resource.casefold() == "secrets":
            return "Secrets are never read or written by the cockpit; use kubectl for them."
        if target.subresource.casefold() in CREDENTIALS:
            return "The cockpit never asks for credentials; use kubectl create token."
    if not read_only:
        return ""
    if target is None:
        return _outside(verb, path)
    if _is_tunnel(target):
        return _tunnel(verb, target)
    if verb in READS or _is_review(verb, target) or (_is_dry_run(query) and _stays_dry(verb, body)):
        return ""
    return f"Read-only: {verb} on {_what(target)} was not sent; allow changes with :write or --write."


def _crooked(path: str) -> str:
    """Paths that could mean something else to a proxy or to the server than to us."""
    if not _PLAIN.match(path):
        return f"The path {path[:200]!r} contains characters that are not allowed; it was not sent."
    parts = path[1:].split("/")
    if "" in parts[:-1] or "." in parts or ".." in parts:
        return f"The path {path[:200]!r} is not in its normal form; it was not sent."
    return ""


def _outside(verb: str, path: str) -> str:
    parts = path.strip("/").split("/")
    is_root = parts[0] in ("api", "apis") or parts[0] in _OPEN_ROOTS
    if verb in READS and is_root:
        return ""
    return f"Read-only: {verb} on {path[:200]} is not sent."


def _is_tunnel(target: PathMeaning) -> bool:
    return target.special == "proxy" or target.subresource.casefold() in TUNNELS


def _tunnel(verb: str, target: PathMeaning) -> str:
    is_service = target.group == "" and target.resource in ("services", "pods") and target.special == ""
    if verb in READS and is_service and target.subresource == "proxy" and _PROXY_READS.match(target.rest):
        return ""
    way = target.subresource or target.special
    return f"Read-only: {way} on {_what(target)} can change things or run commands; it was not sent."


def _is_review(verb: str, target: PathMeaning) -> bool:
    names = _REVIEWS.get(target.group, ())
    return verb == "POST" and target.resource in names and not target.name and not target.special


def _is_dry_run(query: Query) -> bool:
    """Exactly one dryRun parameter, and it says All; in any other spelling the server might see none."""
    said = [(key, value) for key, value in query if key.casefold() == "dryrun"]
    return said == [("dryRun", "All")]


def _stays_dry(verb: str, body: bytes | None) -> bool:
    """A delete with a body takes its options from there and overlooks the query: both must say All.

    Source: apiserver pkg/endpoints/handlers/delete.go, `if len(body) > 0 {` decode it `} else {` the query.
    """
    if verb != "DELETE" or not body:
        return True
    try:
        options = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(options, dict) and options.get("dryRun") == ["All"]


def _what(target: PathMeaning) -> str:
    kind = f"{target.resource}.{target.group}" if target.group else target.resource
    place = "/".join(part for part in (target.namespace, target.name) if part)
    tail = f" ({target.subresource})" if target.subresource else ""
    return f"{kind} {place}{tail}" if place else kind
