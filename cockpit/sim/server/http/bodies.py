"""Bodies of requests: JSON or YAML into trees, and what is said about those that are neither."""

from typing import Any

import msgspec

from cockpit.sim.port import Patch, PatchType, Tree
from cockpit.sim.server.http.statuses import unknown_format
from cockpit.sim.server.refusals import bad_request, unsupported_media

MOST_BYTES = 3 * 1024 * 1024
"""The real server's limit for a body."""

_JSON = frozenset({"", "application/json", "*/*"})
_YAML = frozenset({"application/yaml", "application/x-yaml", "text/yaml"})
_PATCHES = {one.value: one for one in PatchType}
_BUILT_IN = (PatchType.JSON, PatchType.MERGE, PatchType.STRATEGIC, PatchType.APPLY)
_CUSTOM = (PatchType.JSON, PatchType.MERGE, PatchType.APPLY)


def media_of(header: str) -> str:
    """A Content-Type without its parameters."""
    return header.partition(";")[0].strip().lower()


def object_of(body: bytes, content_type: str) -> Tree:
    """The object in a body. Raises PortError 400 or 415."""
    media = media_of(content_type)
    if media in _JSON:
        tree = _json(body, "couldn't get version/kind; json parse error: ")
    elif media in _YAML:
        tree = _yaml(body)
    else:
        raise unknown_format()
    if not isinstance(tree, dict):
        what = "array" if isinstance(tree, list) else type(tree).__name__
        raise bad_request(
            f"couldn't get version/kind; json parse error: json: cannot unmarshal {what} into Go value of "
            'type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string '
            '"json:\\"kind,omitempty\\"" }'
        )
    return tree


def patch_of(body: bytes, content_type: str, *, is_custom: bool) -> tuple[Patch, PatchType]:
    """A patch and what kind it is of. Raises PortError 400 or 415."""
    kind = _PATCHES.get(media_of(content_type))
    known = _CUSTOM if is_custom else _BUILT_IN
    if kind not in known or kind is None:
        accepted = ", ".join(sorted(known))
        raise unsupported_media(
            "the body of the request was in an unknown format - accepted media types include: " + accepted
        )
    tree = _yaml(body) if kind is PatchType.APPLY else _json(body, "error decoding patch: ")
    wanted = list if kind is PatchType.JSON else dict
    if not isinstance(tree, wanted):
        raise bad_request(
            f"error decoding patch: json: cannot unmarshal {_go(tree)} into Go value of type {_go_type(kind)}"
        )
    patch: Patch = tree
    return patch, kind


def _go(tree: Any) -> str:
    names = {dict: "object", list: "array", str: "string", bool: "bool", int: "number", float: "number"}
    return names.get(type(tree), "null")


def _go_type(kind: PatchType) -> str:
    return "jsonpatch.Patch" if kind is PatchType.JSON else "map[string]interface {}"


def _json(body: bytes, prefix: str) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise bad_request(f"{prefix}{error}") from None


def _yaml(body: bytes) -> Any:
    stripped = body.lstrip()
    if stripped[:1] in (b"{", b"["):
        # Most clients send JSON, which is YAML too; reading it as such is a hundred times faster.
        try:
            return msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            pass
    import yaml

    try:
        return yaml.load(body, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        where = str(error).replace("\n", " ")
        raise bad_request(f"error decoding YAML: {where}") from None
