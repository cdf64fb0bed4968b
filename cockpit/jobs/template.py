"""Job templates: YAML files with a list of parameters and a manifest tree with markers.

```yaml
template: {name: mpijob, title: Horovod on PyTorch (MPIJob)}
parameters:
  - {name: workers, type: integer, default: 2, minimum: 1, help: worker pods}
manifest:
  apiVersion: kubeflow.org/v2beta1
  spec: {mpiReplicaSpecs: {Worker: {replicas: {$param: workers}}}}
lint:
  - {warn: "a launcher without a queue starts alone", missing: [queue]}
progress:
  - {name: step, pattern: 'step (?P<step>[0-9]+)'}
  - {name: rate, pattern: '(?P<rate>[0-9.]+) images/s', unit: images/s}
```

The schema is strict: an unknown field, a wrong type or a marker that names no parameter is refused with a
sentence that names file, line and field. How markers become values is told in
`cockpit.jobs.placeholders`, lint rules in `cockpit.jobs.lint_rules`, log patterns in `cockpit.jobs.progress`.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib import resources
from pathlib import Path as FilePath
from typing import Any, Final

import msgspec

from cockpit.errors import BadInput, BadValue
from cockpit.jobs.lint_rules import LintRule, read_rules
from cockpit.jobs.marker_check import check_markers
from cockpit.jobs.parameter_groups import SECTIONS
from cockpit.jobs.parameters import TYPES, Parameter, read, sources
from cockpit.jobs.yaml_document import Document, Path, parse
from cockpit.k8s.quantity import parse_quantity
from cockpit.nearest import nearest_words

_NAME = re.compile(r"[a-z][a-z0-9-]{0,40}")
_TOP: Final = ("template", "parameters", "manifest", "lint", "progress")
_HEAD: Final = ("name", "title", "description")
_FIELDS: Final = (
    *("name", "type", "group", "title", "help", "unit", "default"),
    *("minimum", "maximum", "longest", "choices", "choices-from"),
)
_BOUNDED: Final = ("integer", "quantity")
GROUPS: Final = ("epoch", "epochs", "step", "steps", "loss", "rate")
"""What a log pattern may read; `epochs` and `steps` are how many there will be."""


class ProgressPattern(msgspec.Struct, frozen=True, gc=False):
    """A line of a training log that tells how far it is; the named groups of `pattern` are the numbers.

    `unit` is that of the group `rate`, as in images/s.
    """

    name: str
    pattern: str
    unit: str = ""


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """One checked template. `source` is the file it came from; `manifest` a tree with markers."""

    name: str
    title: str
    description: str = ""
    parameters: tuple[Parameter, ...]
    manifest: Any
    lint: tuple[LintRule, ...] = ()
    progress: tuple[ProgressPattern, ...] = ()
    source: str = ""

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of that name."""
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        return None

    @property
    def api_version(self) -> str:
        """`apiVersion` of the object that it makes."""
        return str(self.manifest["apiVersion"])

    @property
    def kind(self) -> str:
        """`kind` of the object that it makes."""
        return str(self.manifest["kind"])


class Problem(msgspec.Struct, frozen=True):
    """A file, or a folder, that cannot be used, and why."""

    file: str
    sentence: str


class Library(msgspec.Struct, frozen=True, kw_only=True):
    """Every template that could be read, by name, and a sentence for each file that could not."""

    templates: dict[str, Template]
    problems: tuple[Problem, ...] = ()

    def named(self, name: str) -> Template:
        """The template of that name. Raises BadInput: which ones are nearest, or what is wrong with it."""
        if name in self.templates:
            return self.templates[name]
        for problem in self.problems:
            if FilePath(problem.file).stem == name:
                raise BadInput(f"template {name!r} cannot be used: {problem.sentence}")
        raise BadInput(
            f"there is no template {name!r}; {nearest_words(name, self.templates, 'known templates')}"
        )


def load_library(folders: Sequence[FilePath] = ()) -> Library:
    """All templates, and what is wrong with the files that are not usable. Never raises for a broken file."""
    templates: dict[str, Template] = {}
    problems: list[Problem] = []
    for source, text in _files(folders, problems):
        try:
            one = _read_once(text, source)
        except BadInput as error:
            problems.append(Problem(source, error.sentence))
            continue
        templates[one.name] = one
    return Library(templates=templates, problems=tuple(problems))


def built_in_folder() -> Any:
    """The folder of built-in templates: inside the wheel, or the checkout's `jobspecs/templates`."""
    inside = resources.files("cockpit") / "jobspecs" / "templates"
    if inside.is_dir():
        return inside
    return FilePath(__file__).resolve().parents[2] / "jobspecs" / "templates"


def _files(folders: Iterable[FilePath], problems: list[Problem]) -> Iterable[tuple[str, str]]:
    for folder in (built_in_folder(), *folders):
        if not folder.is_dir():
            sentence = f"{folder}: no such folder; fix template-folders in the configuration"
            problems.append(Problem(str(folder), sentence))
            continue
        for file in sorted(folder.iterdir(), key=lambda one: one.name):
            if not file.name.endswith((".yaml", ".yml")):
                continue
            try:
                yield str(file), file.read_text(encoding="utf-8")
            except OSError as error:
                problems.append(Problem(str(file), f"{file}: cannot be read: {error.strerror}"))
            except UnicodeDecodeError:
                problems.append(Problem(str(file), f"{file}: cannot be read: not UTF-8 text"))


def kinds_made(folders: Sequence[FilePath]) -> tuple[tuple[str, str], ...]:
    """(apiVersion, kind) of what the templates make; read again where a file changed, for keys ask often."""
    try:
        files = [file for folder in folders if folder.is_dir() for file in sorted(folder.iterdir())]
        stamps = tuple((str(file), file.stat().st_mtime_ns) for file in files)
    except OSError:  # a file that just went, a link to nowhere: what can be read is read
        stamps = ()
    return _kinds_made(tuple(folders), stamps)


@lru_cache(8)
def _kinds_made(
    folders: tuple[FilePath, ...], _files: tuple[tuple[str, int], ...]
) -> tuple[tuple[str, str], ...]:
    return tuple(
        dict.fromkeys(
            (template.api_version, template.kind) for template in load_library(folders).templates.values()
        )
    )


def read_template(text: str, source: str) -> Template:
    """The template in `text`. Raises BadInput naming file, line and field."""
    document = parse(text, source)
    top = _mapping(document, document.tree, (), _TOP, needed=("template", "parameters", "manifest"))
    head = _mapping(document, top["template"], ("template",), _HEAD, needed=("name", "title"))
    name = _string(document, head["name"], ("template", "name"))
    if not _NAME.fullmatch(name):
        raise document.fault(
            ("template", "name"), f"{name!r} is not a valid name: use a-z, 0-9 and '-', at most 41 characters"
        )
    parameters = _parameters(document, top["parameters"])
    manifest = top["manifest"]
    for key in ("apiVersion", "kind"):
        if not isinstance(manifest, dict) or not isinstance(manifest.get(key), str) or not manifest[key]:
            raise document.fault(("manifest", key), "this must be text, without markers")
    known = {parameter.name: parameter for parameter in parameters}
    check_markers(document, manifest, ("manifest",), known)
    return Template(
        name=name,
        title=_string(document, head["title"], ("template", "title")),
        description=_string(document, head.get("description", ""), ("template", "description")).strip(),
        parameters=parameters,
        manifest=manifest,
        lint=read_rules(document, top.get("lint") or [], known),
        progress=_progress(document, top.get("progress") or []),
        source=source,
    )


@lru_cache(64)
def _read_once(text: str, source: str) -> Template:
    """As `read_template`. Nobody changes a template, and every form that is opened asks for all of them."""
    return read_template(text, source)


def checked_name(name: str) -> str:
    """The name of a template. Raises BadInput for one that is none."""
    if not _NAME.fullmatch(name):
        raise BadInput(f"{name!r} is not a valid name: use a-z, 0-9 and '-', at most 41 characters")
    return name


def renamed(text: str, source: str, name: str) -> str:
    """The text of a template under another name, comments and all. Raises BadInput for a name that is none,
    and for a file whose name does not stand on a line of its own."""
    checked_name(name)
    line = parse(text, source).lines.get(("template", "name"), 0)
    lines = text.split("\n")
    if line:
        lines[line - 1] = re.sub(r"(\bname:\s*)[a-z][a-z0-9-]*", rf"\g<1>{name}", lines[line - 1], count=1)
    made = "\n".join(lines)
    if read_template(made, source).name != name:
        raise BadInput(f"{source}:{line}: the template's name must be written as `name: NAME`")
    return made


def with_defaults(text: str, source: str, name: str, values: Mapping[str, str]) -> str:
    """The text of a template under another name whose parameters have these defaults, comments and all.

    Raises BadInput as `renamed`, and where a parameter does not stand on one line.
    """
    made = renamed(text, source, name)
    document = parse(made, source)
    lines = made.split("\n")
    for at, parameter in enumerate(read_template(made, source).parameters):
        if parameter.name not in values:
            continue
        line = document.lines.get(("parameters", at, "type"), 0)
        quoted = json.dumps(values[parameter.name], ensure_ascii=False)
        head, type_, tail = _TYPE.split(_DEFAULT.sub("", lines[line - 1], count=1), maxsplit=1)
        lines[line - 1] = f"{head}{type_}, default: {quoted}{tail}"
    made = "\n".join(lines)
    kept = read_template(made, source)
    for key, wanted in values.items():
        one = kept.parameter(key)
        if one is None or one.default != wanted:
            raise BadInput(f"{source}: parameter {key} must stand on one line, as {{name: {key}, type: ...}}")
    return made


_TYPE = re.compile(r"(\btype:\s*[a-z-]+)")
_DEFAULT = re.compile(r""",\s*default:\s*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,}\n]*)""")


def _parameters(document: Document, value: Any) -> tuple[Parameter, ...]:
    if not isinstance(value, list):
        raise document.fault(("parameters",), "this must be a list")
    found: dict[str, Parameter] = {}
    for index, one in enumerate(value):
        path: Path = ("parameters", index)
        parameter = _parameter(
            document, _mapping(document, one, path, _FIELDS, needed=("name", "type")), path
        )
        if parameter.name in found:
            raise document.fault((*path, "name"), f"{parameter.name!r} appears twice")
        found[parameter.name] = parameter
    return tuple(found.values())


def _parameter(document: Document, one: dict[str, Any], path: Path) -> Parameter:
    name = _string(document, one["name"], (*path, "name"))
    if not _NAME.fullmatch(name):
        raise document.fault(
            (*path, "name"), f"{name!r} is not a valid name: use a-z, 0-9 and '-', at most 41 characters"
        )
    type_ = _one_of(document, one["type"], (*path, "type"), TYPES)
    for bound in ("minimum", "maximum"):
        if bound in one and type_ not in _BOUNDED:
            raise document.fault((*path, bound), f"only {' and '.join(_BOUNDED)} have bounds")
    longest = one.get("longest")
    if longest is not None and (not isinstance(longest, int) or isinstance(longest, bool) or longest < 1):
        raise document.fault((*path, "longest"), "this must be a number of characters, 1 or more")
    choices = one.get("choices", [])
    if not isinstance(choices, list):
        raise document.fault((*path, "choices"), "this must be a list")
    if type_ == "choice" and not choices and "choices-from" not in one:
        raise document.fault((*path, "type"), "a choice needs `choices` or `choices-from`")
    parameter = Parameter(
        name=name,
        type=type_,
        title=_string(document, one.get("title", name), (*path, "title")),
        help=_string(document, one.get("help", ""), (*path, "help")),
        unit=_string(document, one.get("unit", ""), (*path, "unit")),
        default=None
        if one.get("default") is None
        else _scalar_text(document, one["default"], (*path, "default")),
        minimum=_bound(document, one, (*path, "minimum"), type_),
        maximum=_bound(document, one, (*path, "maximum"), type_),
        longest=longest,
        choices=tuple(
            _scalar_text(document, each, (*path, "choices", at)) for at, each in enumerate(choices)
        ),
        choices_from=_one_of(
            document, one.get("choices-from", ""), (*path, "choices-from"), ("", *sources())
        ),
        group=_one_of(document, one.get("group", ""), (*path, "group"), ("", *SECTIONS)),
    )
    if parameter.default:
        try:
            read(parameter, parameter.default)
        except BadValue as error:
            raise document.fault((*path, "default"), error.fault) from None
    return parameter


def _bound(document: Document, one: dict[str, Any], path: Path, type_: str) -> str:
    value = one.get(str(path[-1]))
    if value is None:
        return ""
    text = _scalar_text(document, value, path)
    try:
        _ = int(text) if type_ == "integer" else parse_quantity(text)
    except ValueError:
        raise document.fault(path, f"{text!r} is not a valid bound of type {type_}") from None
    return text


def _progress(document: Document, value: Any) -> tuple[ProgressPattern, ...]:
    if not isinstance(value, list):
        raise document.fault(("progress",), "this must be a list")
    found = []
    for index, one in enumerate(value):
        path: Path = ("progress", index)
        fields = _mapping(document, one, path, ("name", "pattern", "unit"), needed=("name", "pattern"))
        pattern = _string(document, fields["pattern"], (*path, "pattern"))
        try:
            groups = re.compile(pattern).groupindex
        except re.error as error:
            raise document.fault((*path, "pattern"), f"not a regular expression: {error}") from None
        if not groups:
            raise document.fault((*path, "pattern"), "give a named group such as (?P<step>[0-9]+)")
        for group in groups:
            if group not in GROUPS:
                raise document.fault((*path, "pattern"), f"unknown group {group}; known: {', '.join(GROUPS)}")
        name = _string(document, fields["name"], (*path, "name"))
        unit = _string(document, fields.get("unit", ""), (*path, "unit"))
        found.append(ProgressPattern(name, pattern, unit))
    return tuple(found)


def _mapping(
    document: Document, value: Any, path: Path, known: Sequence[str], *, needed: Sequence[str]
) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise document.fault(path, f"this must have the fields {', '.join(needed)}")
    for key in value:
        if key not in known:
            raise document.fault((*path, key), f"unknown field; known fields: {', '.join(known)}")
    for key in needed:
        if value.get(key) is None:
            raise document.fault((*path, key), "this field is required")
    return value


def _string(document: Document, value: Any, path: Path) -> str:
    if not isinstance(value, str):
        raise document.fault(path, f"this must be text, not {value!r}; put it in quotes")
    return value


def _one_of(document: Document, value: Any, path: Path, known: Sequence[str]) -> str:
    if value not in known:
        raise document.fault(path, f"{value!r} is not one of {', '.join(one for one in known if one)}")
    return str(value)


def _scalar_text(document: Document, value: Any, path: Path) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int):
        return str(value)
    raise document.fault(path, f"this must be text, a whole number or true/false, not {value!r}")
