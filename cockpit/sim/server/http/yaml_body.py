"""YAML of a request as the tree of JSON that it stands for, as sigs.k8s.io/yaml reads it.

Built from the parser's events, one after the other: nesting and aliases are refused before they are unfolded.
"""

from collections.abc import Callable
from math import isfinite
from typing import Any, ClassVar

import msgspec
import yaml

from cockpit.sim.port import PortError
from cockpit.sim.server.limits import METER, MOST_DEPTH, MOST_VALUES, too_large

_MOST_DIRECTIVES = 8
_INT64 = 1 << 63
_NOT_IN_JSON = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:value")
_PREFIX = "tag:yaml.org,2002:"
_size = msgspec.json.Encoder().encode


class BadYaml(ValueError):
    """Why a text is no YAML that stands for JSON."""


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Texts that look like times stay texts, and `1:30` is no number."""

    yaml_implicit_resolvers: ClassVar = {
        first: [(tag, form) for tag, form in known if tag not in _NOT_IN_JSON]
        for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def tree_of(body: bytes) -> Any:
    """The first document; None for an empty one. Raises BadYaml; PortError 413 for too many values."""
    if body.startswith(b"%") + body.count(b"\n%") > _MOST_DIRECTIVES:
        raise BadYaml("too many directives")
    try:
        loader = _Loader(body)
        try:
            return _Building(loader).document()
        finally:
            loader.dispose()
    except UnicodeDecodeError as error:
        raise BadYaml(f"invalid UTF-8: {error.reason}") from None
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        said = f"line {mark.line}: {problem}" if mark else " ".join(str(error).split())
        raise BadYaml(said) from None


class _Open:
    """A list or an object that is not at its end yet."""

    __slots__ = ("anchor", "key", "merged", "tree")

    def __init__(self, tree: Any, anchor: str | None) -> None:
        self.tree = tree
        self.anchor = anchor
        self.key: str | None = None
        self.merged: list[Any] = []


_UNSET: Any = object()


class _Building:
    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._open: list[_Open] = []
        self._anchors: dict[str, Any] = {}
        self._root: Any = _UNSET
        self._values = 0
        self._scalars: dict[str, Callable[[str], Any]] = {
            "null": lambda text: None,
            "bool": lambda text: yaml.SafeLoader.bool_values[text.lower()],
            "int": self._integer,
            "float": self._number,
            "str": str,
            "binary": str,
        }

    def document(self) -> Any:
        """Takes events until the first document is whole."""
        while True:
            event = self._loader.get_event()
            match event:
                case yaml.ScalarEvent():
                    self._put(self._scalar(event), event.anchor)
                case yaml.AliasEvent():
                    self._put(self._aliased(event.anchor or ""), None)
                case yaml.MappingStartEvent():
                    self._begin({}, event.anchor)
                case yaml.SequenceStartEvent():
                    self._begin([], event.anchor)
                case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                    self._end()
                case yaml.DocumentEndEvent() | yaml.StreamEndEvent():
                    return None if self._root is _UNSET else self._root

    def _begin(self, tree: Any, anchor: str | None) -> None:
        if len(self._open) >= MOST_DEPTH:
            raise BadYaml(f"exceeded max depth: at most {MOST_DEPTH} levels are taken")
        self._open.append(_Open(tree, anchor))
        if anchor is not None:
            self._anchors[anchor] = _UNSET

    def _end(self) -> None:
        done = self._open.pop()
        for more in done.merged:
            done.tree = {**more, **done.tree}
        self._put(done.tree, done.anchor)

    def _put(self, value: Any, anchor: str | None) -> None:
        self._values += 1
        if self._values > MOST_VALUES:
            raise too_large(f"Request entity too large: more than {MOST_VALUES} values")
        if anchor is not None:
            self._anchors[anchor] = value
        if not self._open:
            self._root = value
            return
        within = self._open[-1]
        if isinstance(within.tree, list):
            within.tree.append(value)
        elif within.key is None:
            within.key = _key(value)
        else:
            key, within.key = within.key, None
            if key == "<<":
                within.merged += _objects(value)
            else:
                within.tree[key] = value

    def _aliased(self, name: str) -> Any:
        if name not in self._anchors:
            raise BadYaml(f"unknown anchor '{name}' referenced")
        value = self._anchors[name]
        if value is _UNSET:
            raise BadYaml(f"anchor '{name}' value contains itself")
        try:
            METER.measure(value)
            METER.unfold(len(_size(value)))
        except PortError:
            raise BadYaml("document contains excessive aliasing") from None
        return value

    def _scalar(self, event: Any) -> Any:
        text: str = event.value
        tag = event.tag
        if tag is None or tag == "!":
            if not event.implicit[0] or tag == "!":
                return text
            tag = self._loader.resolve(yaml.ScalarNode, text, event.implicit)
        read = self._scalars.get(tag.removeprefix(_PREFIX)) if tag.startswith(_PREFIX) else None
        if tag == f"{_PREFIX}merge":
            return text
        if read is None:
            raise BadYaml(f"line {event.start_mark.line + 1}: cannot take a value of the tag {tag[:64]}")
        try:
            return read(text)
        except (ValueError, KeyError, OverflowError):
            raise BadYaml(
                f"line {event.start_mark.line + 1}: cannot decode !!{tag.removeprefix(_PREFIX)} `{text[:64]}`"
            ) from None

    def _integer(self, text: str) -> Any:
        if ":" in text:
            return text
        digits = text.replace("_", "").lower()
        sign, digits = (-1 if digits[:1] == "-" else 1), digits.lstrip("+-")
        if digits.startswith(("0x", "0b")):
            value = int(digits, 0)
        else:
            value = int(digits, 8) if digits.startswith("0") and digits != "0" else int(digits)
        value *= sign
        return value if -_INT64 <= value < 2 * _INT64 else float(value)

    def _number(self, text: str) -> Any:
        if ":" in text:
            return text
        value = float(text.replace("_", "").lower().replace(".inf", "inf").replace(".nan", "nan"))
        if not isfinite(value):
            raise ValueError(text)
        return value


def _objects(value: Any) -> list[Any]:
    found = value if isinstance(value, list) else [value]
    if not all(isinstance(one, dict) for one in found):
        raise BadYaml("map merge requires map or sequence of maps as the value")
    return found


def _key(value: Any) -> str:
    """A key of an object: JSON has texts only."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if value is None:
        return "null"
    raise BadYaml("an object or a list cannot be a key")
