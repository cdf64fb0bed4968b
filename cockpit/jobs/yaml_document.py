"""YAML as far as a template needs it: plain trees with the line of every value.

Stricter than YAML on purpose: no aliases or anchors (a small file cannot grow into a large tree), no
duplicate keys, no tags, only text as keys, and only the words `true`, `false` and `null` beside numbers and
text (YAML 1.1 reads `no`, `on` and `1:30` as something else than what stands there).
"""

import re
from typing import Any, Final

import msgspec
import yaml

from cockpit.errors import BadInput

Path = tuple[str | int, ...]
"""Where a value stands in the tree: keys and indexes from the root."""

_LARGEST_CHARACTERS: Final = 256 * 1024
_DEEPEST = 60
_MERGE = "<<"
_OPENING: Final = (
    yaml.BlockMappingStartToken,
    yaml.BlockSequenceStartToken,
    yaml.FlowMappingStartToken,
    yaml.FlowSequenceStartToken,
)
_CLOSING: Final = (yaml.BlockEndToken, yaml.FlowMappingEndToken, yaml.FlowSequenceEndToken)


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed file. `lines` holds the line (from 1) at which each value, or the key before it, stands."""

    source: str
    tree: Any
    lines: dict[Path, int]

    def where(self, path: Path) -> str:
        """`file:line: field` for a sentence; a missing value is looked for at its nearest parent."""
        line = 1
        for length in range(len(path), -1, -1):
            if path[:length] in self.lines:
                line = self.lines[path[:length]]
                break
        return f"{self.source}:{line}: {dotted(path)}" if path else f"{self.source}:{line}"

    def fault(self, path: Path, what: str) -> BadInput:
        """A BadInput that names file, line, field and what is wrong there."""
        return BadInput(f"{self.where(path)}: {what}")


def dotted(path: Path) -> str:
    """A path as a person writes it: `parameters[2].name`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


_CORE: Final = (
    ("bool", r"^(?:true|false)$", "tf"),
    ("int", r"^[-+]?(?:0|[1-9][0-9]{0,17})$", "-+0123456789"),
    ("float", r"^[-+]?[0-9]{1,18}(?:\.[0-9]{1,18})(?:[eE][-+]?[0-9]{1,2})?$", "-+0123456789"),
    ("null", r"^(?:~|null|)$", ("~", "n", "")),
)
"""The few scalar words of YAML 1.2's core schema: tag, shape, first characters."""


def _strict(base: Any) -> Any:
    """`base` with the words of `_CORE` in place of its own."""
    loader: Any = type("_Loader", (base,), {"yaml_implicit_resolvers": {}})
    for tag, shape, first in _CORE:
        loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(shape), list(first))
    return loader


_IN_PYTHON = _strict(yaml.SafeLoader)
_IN_C = _strict(yaml.CSafeLoader) if yaml.__with_libyaml__ else None


def parse(text: str, source: str) -> Document:
    """The document in `text`; `source` is the file name used in sentences.

    Raises BadInput for anything but exactly one plain document.
    """
    if len(text) > _LARGEST_CHARACTERS:
        raise BadInput(f"{source}: {len(text)} characters are too many, at most {_LARGEST_CHARACTERS}")
    try:
        root = _root(text, source)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise BadInput(
            f"{source}:{line}: not YAML: {error.problem or error.context or 'unreadable'}"
        ) from None
    except yaml.YAMLError as error:
        raise BadInput(f"{source}:1: not YAML: {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise BadInput(f"{source}: nested deeper than {_DEEPEST} levels") from None
    if root is None:
        raise BadInput(f"{source}:1: the file is empty")
    lines: dict[Path, int] = {}
    return Document(source=source, tree=_build(root, (), lines, source), lines=lines)


def _root(text: str, source: str) -> yaml.Node | None:
    # libyaml takes a fifth of the time, and the keys of the form wait for the templates. What it refuses is
    # judged by the parser in Python: that one knows surrogates and says better what is wrong.
    if _IN_C is not None:
        try:
            _refuse_aliases(text, source, _IN_C)
            return yaml.compose(text, Loader=_IN_C)
        except (yaml.YAMLError, UnicodeEncodeError, BadInput):
            pass
    _refuse_aliases(text, source, _IN_PYTHON)
    return yaml.compose(text, Loader=_IN_PYTHON)


def _refuse_aliases(text: str, source: str, loader: Any) -> None:
    # Looked for in the token stream, before anything is built: a refused file costs nothing.
    depth = 0
    for token in yaml.scan(text, Loader=loader):
        line = token.start_mark.line + 1
        if isinstance(token, yaml.AliasToken | yaml.AnchorToken):
            raise BadInput(f"{source}:{line}: anchors and aliases are not allowed; write the value out")
        if isinstance(token, yaml.TagToken):
            raise BadInput(
                f"{source}:{line}: tags such as {token.value[0] or ''}{token.value[1]} are not allowed"
            )
        if isinstance(token, _OPENING):
            depth += 1
        elif isinstance(token, _CLOSING):
            depth -= 1
        if depth > _DEEPEST:
            raise BadInput(f"{source}:{line}: nested deeper than {_DEEPEST} levels")


def _build(node: yaml.Node, path: Path, lines: dict[Path, int], source: str) -> Any:
    line = node.start_mark.line + 1
    lines.setdefault(path, line)
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, path, lines, source)
    if isinstance(node, yaml.SequenceNode):
        return [_build(one, (*path, index), lines, source) for index, one in enumerate(node.value)]
    return _scalar(node, source)


def _mapping(node: yaml.MappingNode, path: Path, lines: dict[Path, int], source: str) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, yaml.ScalarNode) or key_node.tag != "tag:yaml.org,2002:str":
            shown = key_node.value if isinstance(key_node, yaml.ScalarNode) else "this one"
            raise BadInput(f"{source}:{line}: keys are text, {shown} is not; put it in quotes")
        key = _text(key_node, source)
        if key == _MERGE:
            raise BadInput(f"{source}:{line}: merge keys (<<) are not allowed; write the values out")
        if key in tree:
            raise BadInput(f"{source}:{line}: the key {key!r} appears twice")
        lines[(*path, key)] = line
        tree[key] = _build(value_node, (*path, key), lines, source)
    return tree


def _text(node: yaml.Node, source: str) -> str:
    text = str(node.value)
    if text.isascii():
        return text
    try:
        # An escape beyond the first plane may be written as two surrogates, as JSON does.
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        line = node.start_mark.line + 1
        raise BadInput(f"{source}:{line}: half of a surrogate pair is not a character") from None


def _scalar(node: yaml.Node, source: str) -> str | int | float | bool | None:
    text = _text(node, source)
    match node.tag.rsplit(":", 1)[-1]:
        case "bool":
            return text == "true"
        case "int":
            return int(text)
        case "float":
            return float(text)
        case "null":
            return None
        case _:
            return text
