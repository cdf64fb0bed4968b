"""A template made of a manifest: what people change from run to run becomes parameters, the rest stays.

What is a parameter is guessed, and shown in its help (`guessed from ...`): the name, also where it is
repeated, the namespace, the queue, the image, the command, how many pods and GPUs there are.
"""

import json
import shlex
from collections.abc import Iterator
from typing import Any, Final

from cockpit.errors import BadInput
from cockpit.fit.pod_sets import COUNTS, ManifestPods, pod_sets
from cockpit.gangs import registry
from cockpit.jobs.template import read_template
from cockpit.k8s.gpu_resources import is_gpu_resource
from cockpit.yaml_text import yaml_text

_WIDTH: Final = 110
_LONGEST_COMMAND: Final = 2_000
_PLACES: Final = {
    "name": ("what", "Name"),
    "image": ("what", "Image"),
    "command": ("what", "Command"),
    "namespace": ("where", "Namespace"),
    "queue": ("where", "Queue"),
    "workers": ("how-many", "Pods"),
    "gpus": ("how-many", "GPUs each"),
}


class _Guesses:
    """Parameters as they are found, in the order of the form."""

    def __init__(self, tree: dict[str, Any]) -> None:
        self.tree = tree
        self.found: dict[str, dict[str, Any]] = {}

    def add(self, name: str, kind: str, default: Any, place: str, **more: Any) -> dict[str, str]:
        """Note a parameter; answers the marker that stands for it."""
        group, title = _PLACES[name]
        told = {"name": name, "type": kind, "group": group, "title": title}
        if default is not None:
            told["default"] = default
        self.found[name] = {**told, **more, "help": f"guessed from {place}"}
        return {"$param": name}


def template_text(manifest: dict[str, Any], name: str, source: str) -> str:
    """The text of a template `name` of this manifest. Raises BadInput where no template can hold it."""
    guesses = _Guesses(json.loads(json.dumps(manifest)))
    sets = pod_sets(guesses.tree)
    main = max(sets, key=lambda one: (one.gpus_each or 0, one.replicas or 0), default=None)
    _identity(guesses)
    _queue(guesses, manifest)
    if main is not None:
        _image(guesses, sets, main)
        _command(guesses, sets)
        _count(guesses, main)
        for part in sets:
            if part.gpus_each == main.gpus_each:
                _gpus(guesses, part)
    kind = str(manifest.get("kind"))
    head = {
        "name": name,
        "title": f"{kind} of {source.rpartition('/')[2]}",
        "description": f"Made from {source}.",
    }
    parameters = [guesses.found[key] for key in _PLACES if key in guesses.found]
    text = yaml_text({"template": head, "parameters": parameters, "manifest": guesses.tree}, _WIDTH)
    if read_template(text, f"the template made of {source}").name != name:
        raise BadInput(f"{source}: cannot become the template {name}")
    return text


def _identity(guesses: _Guesses) -> None:
    metadata = guesses.tree["metadata"]
    was, where = metadata["name"], metadata.get("namespace")
    marker = guesses.add("name", "dns-label", None, f"metadata.name {was}", longest=52)
    for holder, key in _places(guesses.tree, was):
        holder[key] = dict(marker)
    metadata["name"] = marker
    metadata["namespace"] = guesses.add(
        "namespace", "dns-label", where or "default", "metadata.namespace", **{"choices-from": "namespaces"}
    )


def _queue(guesses: _Guesses, manifest: dict[str, Any]) -> None:
    engine, queue = registry.admitting(manifest)
    held = [(node, key) for node, key in _places(guesses.tree, queue) if "queue" in str(key)] if queue else []
    if not held:
        return
    offered = {"choices-from": engine.queues.local} if engine.queues.local in registry.offer_names() else {}
    marker = guesses.add("queue", "dns-label", queue, str(held[0][1]), **offered)
    for node, key in held:
        node[key] = dict(marker)


def _image(guesses: _Guesses, sets: tuple[ManifestPods, ...], main: ManifestPods) -> None:
    first = next((item for item in _containers(main) if isinstance(item.get("image"), str)), None)
    if first is None:
        return
    image = first["image"]
    marker = guesses.add("image", "image", image, f"the image of {main.role} pods")
    for part in sets:
        for container in _containers(part):
            if container.get("image") == image:
                container["image"] = dict(marker)


def _command(guesses: _Guesses, sets: tuple[ManifestPods, ...]) -> None:
    """Of the first pods that have one, a launcher before its workers; and wherever it is repeated."""
    held = [
        (part.role, container, key)
        for part in sets
        for container in _containers(part)
        for key in ("command", "args")
        if _is_words(container.get(key))
    ]
    if not held:
        return
    role, container, key = held[0]
    words = container[key]
    line = shlex.join(words)
    if len(line) > _LONGEST_COMMAND or "\n" in line:
        return
    guesses.add("command", "command", line, f"{key} of {role} pods")
    for _role, other, field in held:
        if other[field] == words:
            other[field] = [{"$splice": "command"}]


def _count(guesses: _Guesses, main: ManifestPods) -> None:
    """The count above the template of these pods, and what has to be equal to it."""
    above = _above(guesses.tree, main.template)
    held = next(((node, key) for node in above for key in COUNTS if _is_count(node.get(key))), None)
    if held is None:
        return
    holder, key = held
    count = holder[key]
    marker = guesses.add("workers", "integer", count, f"{key} of {main.role} pods", minimum=1, unit="pods")
    for node in above:
        for other, value in node.items():
            is_same = other in (key, "completions") or other.startswith("min")
            if is_same and _is_count(value) and value == count:
                node[other] = dict(marker)


def _gpus(guesses: _Guesses, main: ManifestPods) -> None:
    for container in _containers(main):
        resources = container.get("resources")
        for part in ("limits", "requests"):
            table = resources.get(part) if isinstance(resources, dict) else None
            if not isinstance(table, dict):
                continue
            for resource, amount in table.items():
                if is_gpu_resource(resource) and str(amount).isdigit():
                    place = f"{resource} of {main.role} pods"
                    table[resource] = guesses.add(
                        "gpus", "integer", int(amount), place, minimum=1, unit="GPUs"
                    )


def _is_words(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(word, str) for word in value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _containers(part: ManifestPods) -> list[dict[str, Any]]:
    found = part.pod_spec.get("containers")
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _above(node: Any, wanted: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """The mappings above `wanted`, the nearest first; () where it is not below."""
    values = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for value in values:
        if value is wanted or (isinstance(value, dict) and value is wanted.get("spec")):
            return (node,) if isinstance(node, dict) else ()
        if found := _above(value, wanted):
            return (*found, node) if isinstance(node, dict) else found
    return ()


def _places(node: Any, text: str) -> Iterator[tuple[Any, Any]]:
    """Where exactly this text stands as a value, below labels, names and selectors; (holder, key)."""
    for key, value in list(node.items() if isinstance(node, dict) else enumerate(node)):
        if value == text and isinstance(value, str):
            yield node, key
        elif isinstance(value, (dict, list)):
            yield from _places(value, text)
