"""Files of manifests as people have them: one or many documents, lists of objects, JSON."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from random import Random
from typing import Any, Final, TextIO

import yaml

from cockpit.errors import BadInput
from cockpit.jobs.template import Template
from cockpit.sanitise import clean
from cockpit.yaml_text import read_documents

MOST_BYTES: Final = 4 << 20
MOST_OBJECTS: Final = 200
_WRITTEN_BY_SERVERS: Final = (
    *("creationTimestamp", "resourceVersion", "uid", "generation", "managedFields", "selfLink"),
    *("deletionTimestamp", "deletionGracePeriodSeconds"),
)
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"  # k8s.io/apimachinery pkg/util/rand: no word comes of them
_LONGEST_BEGIN: Final = 58


def read_manifests(name: str, standard_input: TextIO, rng: Random) -> tuple[Template, ...]:
    """The objects of a file ("-": of standard input), in its order, each as a template without parameters.

    What a server writes into an object that was read from it (uid, status) is left out. The name that
    `generateName` leaves open is chosen here, so that the plan can tell it. Raises BadInput.
    """
    source = "standard input" if name == "-" else name
    objects = [
        item for tree in documents(_text(name, standard_input), source) for item in _opened(tree, source)
    ]
    if not objects:
        raise BadInput(f"{source}: there is no object in it")
    if len(objects) > MOST_OBJECTS:
        raise BadInput(f"{source}: {len(objects):,} objects; at most {MOST_OBJECTS} are submitted together")
    return tuple(
        _template(tree, source if len(objects) == 1 else f"{source}, object {at}", rng)
        for at, tree in enumerate(objects, 1)
    )


def is_file_name(text: str) -> bool:
    """Whether it names a file: no name of a template has a dot or a slash."""
    return text == "-" or "/" in text or "." in text


def path_of(name: str) -> Path:
    """The path as a shell would take it. Raises BadInput for the home of a user that does not exist."""
    try:
        return Path(name).expanduser()
    except RuntimeError:
        raise BadInput(f"{name}: there is no user of that name; give the path of a manifest") from None


def _text(name: str, standard_input: TextIO) -> str:
    if name == "-":
        return _read(name, lambda: nullcontext(standard_input))
    return _read(name, lambda: path_of(name).open(encoding="utf-8"))


def manifest_text(path: Path) -> str:
    """What stands in a file of manifests. Raises BadInput."""
    return _read(str(path), lambda: path.open(encoding="utf-8"))


def _read(name: str, opened: Callable[[], AbstractContextManager[TextIO]]) -> str:
    try:
        with opened() as file:
            text = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise BadInput(f"{name}: {error.strerror or error}; give the path of a manifest") from None
    except UnicodeDecodeError:
        raise BadInput(f"{name}: not text in UTF-8; give a manifest in YAML or JSON") from None
    if len(text) > MOST_BYTES:
        raise BadInput(f"{name}: longer than {MOST_BYTES >> 20} MiB; split the file")
    return text


def documents(text: str, source: str) -> list[Any]:
    """The documents of a text as they go over the wire, None for an empty one. Raises BadInput that names
    `source` and the line."""
    try:
        try:
            found = read_documents(text)
        except yaml.YAMLError:
            found = read_documents(text, in_python=True)  # which says better what is wrong
        # as it goes over the wire: dates as text, keys as text
        return [json.loads(json.dumps(tree, default=str)) for tree in found]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{source}:{mark.line + 1}" if mark is not None else source
        what = clean(str(getattr(error, "problem", None) or error), 200)
        raise BadInput(f"{place}: not YAML: {what}") from None
    except (RecursionError, ValueError, TypeError) as error:
        raise BadInput(f"{source}: no manifest: {clean(str(error), 200)}") from None


def _opened(tree: Any, source: str) -> list[Any]:
    """The objects of a `List`; a document that is empty holds none."""
    if tree is None:
        return []
    if (
        isinstance(tree, dict)
        and str(tree.get("kind")).endswith("List")
        and isinstance(tree.get("items"), list)
    ):
        return [item for each in tree["items"] for item in _opened(each, source)]
    return [tree]


def _template(tree: Any, place: str, rng: Random) -> Template:
    if not isinstance(tree, dict):
        raise BadInput(f"{place}: {type(tree).__name__} where an object with apiVersion and kind belongs")
    for field in ("apiVersion", "kind"):
        if not isinstance(tree.get(field), str) or not tree[field].strip():
            raise BadInput(f"{place}: {field} is missing: write the {field} of the object")
    kind = clean(tree["kind"], 80)
    if kind == "Secret":
        raise BadInput(
            f"{place}: Secrets are not sent from here: create it with kubectl, and name it in the job"
        )
    metadata = tree.get("metadata")
    kept = {
        key: value
        for key, value in (metadata if isinstance(metadata, dict) else {}).items()
        if key not in _WRITTEN_BY_SERVERS
    }
    begin = kept.pop("generateName", None)
    if not kept.get("name") and isinstance(begin, str) and begin:
        kept["name"] = begin[:_LONGEST_BEGIN] + "".join(rng.choices(_LETTERS, k=5))
    if not isinstance(kept.get("name"), str) or not kept["name"]:
        raise BadInput(f"{place}: metadata.name of the {kind} is missing: give it a name")
    return Template(
        name=clean(kept["name"], 253),
        title=place,
        parameters=(),
        manifest={key: value for key, value in tree.items() if key != "status"} | {"metadata": kept},
        source=place,
    )
