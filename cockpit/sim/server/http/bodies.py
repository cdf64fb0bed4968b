"""Bodies of requests: JSON, YAML or protobuf into trees, and what is said about those that are none."""

import json
from typing import Any, ClassVar

import msgspec
import yaml

from cockpit.sim.port import Patch, PatchType, PortError, Tree
from cockpit.sim.server.http.statuses import unknown_format
from cockpit.sim.server.http.wire import decode as wire
from cockpit.sim.server.json_values import json_type
from cockpit.sim.server.refusals import bad_request, unsupported_media
from cockpit.sim.server.schema.decode import accepted
from cockpit.sim.server.schema.kinds import shape_of

_JSON = frozenset({"", "application/json", "*/*"})
_YAML = frozenset({"application/yaml", "application/x-yaml", "text/yaml"})
_PATCHES = {one.value: one for one in PatchType}
_BUILT_IN = (PatchType.JSON, PatchType.MERGE, PatchType.STRATEGIC, PatchType.APPLY)
_CUSTOM = (PatchType.JSON, PatchType.MERGE, PatchType.APPLY)


def media_of(header: str) -> str:
    """A Content-Type without its parameters."""
    return header.partition(";")[0].strip().lower()


_NO_KIND = "couldn't get version/kind; json parse error: "
_NO_YAML = "error decoding YAML: error converting YAML to JSON: "
_QUOTED_BYTES = 30
_TOO_DEEP = "exceeded max depth"
_BEGINNINGS = b'{["-0123456789tfn'


def object_of(body: bytes, content_type: str, kind: str = "Status") -> Tree:
    """The object of a `kind` in a body. Raises PortError 400 or 415."""
    media = media_of(content_type)
    try:
        if media in _JSON:
            tree = _json(body, _NO_KIND)
        elif media in _YAML:
            tree = _yaml(body)
        elif media == wire.MEDIA:
            tree = _wire(body)
        else:
            raise unknown_format()
        if tree is None and body.strip() == b"null":
            tree = {}
        if not isinstance(tree, dict):
            raise bad_request(f"{_NO_KIND}must be an object, not {json_type(tree)}")
    except PortError as error:
        if error.status != 400:
            raise
        why = f"the object provided is unrecognized (must be of type {kind}): {error.message}"
        raise bad_request(f"{why} ({_quoted(body)})") from None
    return tree


def typed(tree: Tree, group_version: str, kind: str, validation: str = "") -> Tree:
    """An object of a built-in type as it is understood. Raises PortError 400 for fields of other types."""
    group, _, version = group_version.rpartition("/")
    shape = shape_of(group, version, kind)
    return (
        tree
        if shape is None
        else accepted({**tree, "apiVersion": group_version, "kind": kind}, shape, validation)[0]
    )


def without_kind(body: bytes, kind: str) -> PortError:
    """400 for a custom object that does not say what it is."""
    text = body.decode("utf-8", "replace")
    why = (
        f"the object provided is unrecognized (must be of type {kind}): Object 'Kind' is missing in '{text}'"
    )
    return bad_request(f"{why} ({_quoted(body)})")


def _wire(body: bytes) -> Tree:
    try:
        return dict(wire.decoded(body))
    except RecursionError:
        raise bad_request(_TOO_DEEP) from None
    except wire.BadProtobuf as error:
        raise bad_request(str(error)) from None


def _quoted(body: bytes) -> str:
    """The beginning of a body, as the real server quotes one that it does not understand."""
    if not body:
        return "<empty>"
    text = body[:_QUOTED_BYTES]
    shown = text.decode("utf-8", "replace") if body[:1] == b"{" else text.hex()
    return f"{shown} ..." if len(body) > _QUOTED_BYTES else shown


def patch_type_of(content_type: str, *, is_custom: bool) -> PatchType:
    """What kind of patch a body is. Raises PortError 415."""
    kind = _PATCHES.get(media_of(content_type))
    known = _CUSTOM if is_custom else _BUILT_IN
    if kind is None or kind not in known:
        told = (PatchType.JSON, PatchType.MERGE, PatchType.STRATEGIC, PatchType.APPLY)
        accepted = ", ".join(one.value for one in told if one in known)
        if kind is None and not is_custom:
            raise unsupported_media("415: Unsupported Media Type")
        raise unsupported_media(
            "the body of the request was in an unknown format - accepted media types include: " + accepted
        )
    return kind


def patch_of(body: bytes, kind: PatchType) -> Patch:
    """The patch in a body. Raises PortError 400."""
    prefix = "" if kind is PatchType.STRATEGIC else "error decoding patch: "
    tree = _yaml(body, _NO_YAML) if kind is PatchType.APPLY else _json(body, prefix)
    if tree is None and kind is PatchType.APPLY:
        tree = {}
    wanted = list if kind is PatchType.JSON else dict
    if not isinstance(tree, wanted) and kind is PatchType.APPLY:
        raise bad_request(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: "
            f"must be an object, not {json_type(tree)}"
        )
    if not isinstance(tree, wanted):
        raise bad_request(
            f"{prefix}must be an {'array' if kind is PatchType.JSON else 'object'}, not {json_type(tree)}"
        )
    patch: Patch = tree
    return patch


def _json(body: bytes, prefix: str) -> Any:
    try:
        return msgspec.json.decode(body)
    except RecursionError:
        raise bad_request(f"{prefix}{_TOO_DEEP}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        said = "unexpected end of JSON input" if "truncated" in str(error) else str(error)
        first = body.lstrip()[:1]
        if first and first not in _BEGINNINGS:
            said = f"invalid character '{first.decode('latin-1')}' looking for beginning of value"
        raise bad_request(f"{prefix}{said}") from None


def _yaml(body: bytes, prefix: str = "") -> Any:
    stripped = body.lstrip()
    if stripped[:1] in (b"{", b"["):
        # Most clients send JSON, which is YAML too; reading it as such is a hundred times faster.
        try:
            return msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass

    try:
        return tree_of(body)
    except BadYaml as error:
        raise bad_request(f"{prefix}yaml: {error}") from None


_NOT_IN_JSON = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:value")


class BadYaml(ValueError):
    """Why a text is no YAML that stands for JSON."""


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Texts that look like times stay texts."""

    yaml_implicit_resolvers: ClassVar = {
        first: [(tag, form) for tag, form in known if tag not in _NOT_IN_JSON]
        for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def tree_of(body: bytes) -> Any:
    """The first document; None for an empty one. Raises BadYaml."""
    try:
        _check_events(body)
        loader = _Loader(body)
        try:
            # What JSON cannot hold (sets, infinity) is refused here, and keys become texts.
            return msgspec.json.decode(json.dumps(loader.get_data(), allow_nan=False))
        finally:
            loader.dispose()
    except UnicodeDecodeError as error:
        raise BadYaml(f"invalid UTF-8: {error.reason}") from None
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        raise BadYaml(f"line {mark.line}: {problem}" if mark else " ".join(str(error).split())) from None
    except (TypeError, ValueError, OverflowError) as error:
        raise BadYaml(str(error)) from None


def _check_events(body: bytes) -> None:
    """Refuse aliases before anything is built of them."""
    for event in yaml.parse(body, Loader=_Loader):
        if isinstance(event, yaml.AliasEvent):
            raise BadYaml("aliases are not taken")
        if isinstance(event, yaml.DocumentEndEvent):
            return
