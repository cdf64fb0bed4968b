"""From a file to a Scenario. An error names the file, the line and the field, in one sentence."""

import re
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from cockpit.errors import BadInput
from cockpit.sim.actors.kubelet.local_images import PREFIX
from cockpit.sim.scenarios.check import faults_of
from cockpit.sim.scenarios.schema import Scenario
from cockpit.yaml_text import bounded, read_yaml

_AT = re.compile(r"^(?P<what>.*?)(?: - at `\$(?P<path>[^`]*)`)?$", re.DOTALL)
_PART = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")
_UNKNOWN = re.compile(r"contains unknown field `([^`]+)`")

_EXPECTED = re.compile(r"Expected `([^`]+)`")
_PLAIN = {
    "array": "a list", "object": "a mapping", "str": "a text", "int": "a whole number", "float": "a number",
    "bool": "true or false", "null": "nothing",
}  # fmt: skip

Path_ = tuple[str | int, ...]

TRAINING = "training"
"""The one shipped scenario whose pods run commands of this machine."""


def shipped_folder() -> Path:
    """Where the scenarios lie that come with the cockpit: in the wheel, or in the checkout."""
    inside = resources.files("cockpit") / "jobspecs" / "scenarios"
    if inside.is_dir():
        return Path(str(inside))
    return Path(__file__).resolve().parents[3] / "jobspecs" / "scenarios"


def shipped() -> dict[str, Path]:
    """Name -> file of the scenarios that come with the cockpit."""
    return {path.stem: path for path in sorted(shipped_folder().glob("*.yaml"))}


def find(name: str) -> Path:
    """The file of a shipped scenario, or the file of that path. Raises BadInput naming what there is."""
    known = shipped()
    if name in known:
        return known[name]
    path = Path(name).expanduser()
    if path.suffix in (".yaml", ".yml") and path.is_file():
        return path
    raise BadInput(
        f"scenario {name!r} is neither a file nor one of {', '.join(known)}; cockpit demo --list tells more."
    )


def load(path: Path, *, allow_local: bool = False, images: Mapping[str, str] | None = None) -> Scenario:
    """The scenario in a file; `images` are names of images in place of others.

    With `allow_local` its images may be such that run commands of this machine, as those of TRAINING may.
    Raises BadInput: file, line, field, value, remedy.
    """
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"scenario {path} cannot be read: {error}.") from None
    may_run = allow_local or path == shipped().get(TRAINING)
    return parse(text, str(path), allow_local=may_run, images=images)


def parse(
    text: str, where: str, *, allow_local: bool = False, images: Mapping[str, str] | None = None
) -> Scenario:
    """The scenario in a text; `where` names it in errors. Raises BadInput as `load`."""
    import yaml

    try:
        root = yaml.compose(text, Loader=bounded(yaml.SafeLoader))
        tree = read_yaml(text, in_python=True)
    except yaml.YAMLError as error:
        raise BadInput(_syntax(error, where)) from None
    except ValueError as error:  # a date that no calendar has
        raise BadInput(f"{where}: {' '.join(str(error).split())}.") from None
    for line, key in _twice(root):
        raise BadInput(f"{where}, line {line}, {key}: it is there twice; keep one.")
    if not isinstance(tree, dict):
        raise BadInput(f"{where}, line 1: a scenario is a mapping with name, title, pools and steps.")
    for path, holder, image in _local_images(tree):
        if not allow_local:
            raise BadInput(
                f"{where}, line {_line(root, path)}, {_field(path)}: {image!r} runs commands on this "
                "machine; give --allow-local if you trust the file."
            )
        holder["image"] = (images or {}).get(image, image)
    try:
        scenario = msgspec.convert(tree, Scenario)
    except msgspec.ValidationError as error:
        raise BadInput(_told(error, root, tree, where)) from None
    for fault in faults_of(scenario):
        raise BadInput(f"{where}, line {_line(root, fault.path)}, {_field(fault.path)}: {fault.sentence}")
    return scenario


def _local_images(tree: Any, path: Path_ = ()) -> Iterator[tuple[Path_, dict[str, Any], str]]:
    """Path, container and name of each image by which a pod would run on this machine, wherever it stands."""
    if isinstance(tree, dict):
        image = tree.get("image")
        if isinstance(image, str) and image.startswith(PREFIX):
            yield (*path, "image"), tree, image
        for key, value in tree.items():
            yield from _local_images(value, (*path, str(key)))
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from _local_images(value, (*path, index))


def _syntax(error: Any, where: str) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = " ".join(str(getattr(error, "problem", None) or error).split())
    line = f", line {mark.line + 1}" if mark is not None else ""
    return f"{where}{line}: {problem}."


def _told(error: msgspec.ValidationError, root: Any, tree: Any, where: str) -> str:
    match = _AT.match(str(error))
    assert match is not None
    what, path = match["what"], _path(match["path"] or "", tree)
    unknown = _UNKNOWN.search(what)
    if unknown is not None:
        path = (*path, unknown[1])
        what = "no such field"
    value = _value(tree, path)
    shown = "" if unknown is not None or isinstance(value, (dict, list)) else f", got {value!r}"
    choices = _choices(path)
    if what.startswith("Invalid enum value") and choices:
        what, shown = f"{value!r} is none of {', '.join(choices)}", ""
    what = _EXPECTED.sub(lambda found: f"it must be {_words(found[1])}", what)
    what = what.replace("Object missing required field", "missing field").replace("Object ", "it ")
    what = re.sub(r", got `[^`]*`| - at `[^`]*` in `[^`]*`", "", what)
    return f"{where}, line {_line(root, path)}, {_field(path)}: {what}{shown}."


def _words(types: str) -> str:
    """`int | null` -> `a whole number or nothing`."""
    return " or ".join(dict.fromkeys(_PLAIN.get(one.strip(), one.strip()) for one in types.split("|")))


def _choices(path: Path_) -> tuple[str, ...]:
    """The words that a field may be, () for a field that is free."""
    here: Any = Scenario
    for part in path:
        here = next((one for one in get_args(here) if one is not type(None)), here)
        if isinstance(part, str):
            hints = (
                get_type_hints(here) if isinstance(here, type) and issubclass(here, msgspec.Struct) else {}
            )
            here = hints.get(part.replace("-", "_"))
    return tuple(get_args(here)) if get_origin(here) is Literal else ()


def _twice(root: Any) -> Iterator[tuple[int, str]]:
    """Keys of a mapping that stand there before: YAML takes the last one in silence."""
    pending, met = [root], set[int]()
    while pending:
        node = pending.pop()
        if node is None or id(node) in met:
            continue
        met.add(id(node))
        if isinstance(node.value, list):
            keys = set[str]()
            for one in node.value:
                if isinstance(one, tuple):
                    key, value = one
                    if isinstance(key.value, str) and key.value in keys and key.value != "<<":
                        yield key.start_mark.line + 1, key.value
                    keys.add(str(key.value))
                    pending.append(value)
                else:
                    pending.append(one)


def _path(text: str, tree: Any) -> Path_:
    """`.pools[0].gpus` -> ("pools", 0, "gpus"); msgspec writes `[...]` where it does not say which."""
    found: list[str | int] = []
    for name, index in _PART.findall(text):
        if name:
            found.append(name)
        elif index.isdigit():
            found.append(int(index))
        else:
            break
    return tuple(found)


def _value(tree: Any, path: Path_) -> Any:
    for part in path:
        try:
            tree = tree[part]
        except (KeyError, IndexError, TypeError):
            return None
    return tree


def _field(path: Path_) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.lstrip(".") or "the file"


def _line(root: Any, path: Path_) -> int:
    """The line of the deepest part of a path that is there."""
    line: int = root.start_mark.line if root is not None else 0
    for part in path:
        for key, node in _children(root):
            if key == part:
                root = node
                line = node.start_mark.line
                break
        else:
            break
    return line + 1


def _children(node: Any) -> Iterator[tuple[str | int, Any]]:
    import yaml

    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield str(key.value), _Marked(value, key.start_mark)
    elif isinstance(node, yaml.SequenceNode):
        yield from enumerate(node.value)
    elif isinstance(node, _Marked):
        yield from _children(node.node)


class _Marked:
    """A value with the line of its key: where a person looks for the field."""

    def __init__(self, node: Any, start_mark: Any) -> None:
        self.node = node
        self.start_mark = start_mark
