"""The kubectl command that would send the same call: shown beside the cockpit's own line.

It is the same change without the guard: kubectl is not told which object was meant (uid, resourceVersion).
What is made stands in its line whole, but for its secrets.
"""

import json
import shlex
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from cockpit.mask import mask_tree, mask_words
from cockpit.model.plan import Plan

_TYPES: Final = {
    "application/merge-patch+json": "merge",
    "application/strategic-merge-patch+json": "strategic",
}
_GUARD: Final = ("uid", "resourceVersion")
_MOST_NAMES: Final = 5
MOST_KUBECTL: Final = 6
"""So many lines are shown of a plan of many calls."""


def kubectl_lines(plan: Plan, context: str = "") -> tuple[str, ...]:
    """One line a call; those of one verb of kubectl's own in one namespace stand on one line."""
    lines: dict[str, None] = {}
    named: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for call in (*plan.deeds, *plan.later):  # nobody takes a hold by hand
        if call.via:  # no kubectl: the line of whoever sends it
            lines[shlex.join(mask_words(call.body["argv"]))] = None
            continue
        namespace, group, plural, name, subresource = place_of(call.path)
        resource = f"{plural}.{group}" if group and group not in ("batch", "apps") else plural
        own = ("delete", resource) if call.method == "DELETE" else call.kubectl
        if own:
            named.setdefault((namespace, own), []).append(name)
        elif call.method == "POST":
            words = ["create", *(["--raw", call.path] if subresource else []), "-f", "-"]
            body = shlex.join(["printf", "%s", _one_line(call.body)])
            lines[f"{body} | {_line(words, context, '' if subresource else namespace)}"] = None
        else:
            words = ["patch", resource, name, "--type", _TYPES.get(call.content_type, "merge")]
            words += ["--subresource", subresource] if subresource else []
            lines[_line([*words, "-p", _unguarded(call.body)], context, namespace)] = None
    together: dict[str, None] = {}
    for (namespace, own), names in named.items():
        more = [f"... {len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
        line = _line([*own, *names[:_MOST_NAMES]], context, namespace)
        together[" ".join([line, *more])] = None
    if any(call.replaces for call in plan.calls):  # what is deleted makes room
        return (*together, *lines)
    return (*lines, *together)


def _line(words: list[str], context: str, namespace: str) -> str:
    where = ["--context", context] if context else []
    return shlex.join(["kubectl", *where, *(["-n", namespace] if namespace else []), *words])


class ObjectPath(NamedTuple):
    """What a path below the host names."""

    namespace: str
    group: str
    resource: str
    name: str
    subresource: str


def place_of(path: str) -> ObjectPath:
    """The parts of a path such as /apis/batch/v1/namespaces/a/jobs/b/status."""
    parts = path.strip("/").split("/")
    group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1], parts[3:])
    namespace = ""
    if len(rest) > 2 and rest[0] == "namespaces":
        namespace, rest = rest[1], rest[2:]
    return ObjectPath(namespace, group, rest[0], rest[1] if len(rest) > 1 else "", "/".join(rest[2:]))


def _unguarded(body: Any) -> str:
    if isinstance(body, Mapping):
        metadata = {k: v for k, v in (body.get("metadata") or {}).items() if k not in _GUARD}
        body = {
            **{k: v for k, v in body.items() if k != "metadata"},
            **({"metadata": metadata} if metadata else {}),
        }
    return _one_line(body)


def _one_line(body: Any) -> str:
    return json.dumps(mask_tree(body), separators=(",", ":"), ensure_ascii=False)
