"""A template made from one job's manifest: its parameters are what one changes between two runs.

Only a leaf that can be given back exactly becomes a parameter; all else stays in the manifest as it is.
"""

import copy
import shlex
from collections.abc import Mapping
from typing import Any, Final

from cockpit.errors import BadInput
from cockpit.gangs.detect import QUEUE_LABEL
from cockpit.jobs.parameters import Parameter, read
from cockpit.jobs.pod_templates import amounts, containers, mapping, pod_templates
from cockpit.jobs.render import GPU_RESOURCES
from cockpit.jobs.template import Template

PRIORITY_LABEL: Final = "kueue.x-k8s.io/priority-class"
_ORDER: Final = (
    *("name", "namespace", "queue", "priority", "workers", "gpus"),
    *("image", "command", "args", "memory"),
)
_COUNTS: Final = ("-np", "-n", "--np")
"""Options of mpirun and horovodrun that are followed by the number of processes."""


def clone_template(manifest: Mapping[str, Any], name: str) -> Template:
    """The template that makes `manifest` again under `name`, when nothing is filled in.

    `manifest` is what `cockpit.jobs.again.as_written` made. Raises BadInput for an object without a kind.
    """
    tree = copy.deepcopy(dict(manifest))
    kind = str(tree.get("kind") or "")
    if not kind or not tree.get("apiVersion") or not isinstance(tree.get("metadata"), dict):
        raise BadInput("only a whole object can be cloned: apiVersion, kind and metadata are needed")
    _refuse_markers(tree)
    made = _Making(tree)
    made.identity(name)
    made.gpus()
    made.size()
    made.pods()
    made.queue()
    made.parameters.sort(key=lambda one: _ORDER.index(one.name))
    return Template(
        name="clone",
        title=f"{kind} once more",
        parameters=tuple(made.parameters),
        manifest=tree,
        source="clone",
    )


def _refuse_markers(value: Any) -> None:
    # A key that begins with $ would be read as a marker when the template is rendered.
    if isinstance(value, dict):
        for key, one in value.items():
            if str(key).startswith("$"):
                raise BadInput(
                    f"the object has a field {key!r}, which a template cannot hold: clone it by kubectl"
                )
            _refuse_markers(one)
    elif isinstance(value, list):
        for one in value:
            _refuse_markers(one)


class _Making:
    """One template while its markers are set into the tree."""

    def __init__(self, tree: dict[str, Any]) -> None:
        self._tree = tree
        self._slots: int | str = mapping(tree.get("spec")).get("slotsPerWorker", 1)
        self._slots_before = 1  # of a job whose slots follow its GPUs
        self.parameters: list[Parameter] = []

    def _offer(self, name: str, type_: str, title: str, default: str, **more: Any) -> bool:
        """Take the parameter if its default passes its own check; False leaves the leaf as it is."""
        one = Parameter(name=name, type=type_, title=title, default=default, **more)
        try:
            read(one, default)
        except BadInput:
            return False
        self.parameters.append(one)
        return True

    def identity(self, name: str) -> None:
        metadata = self._tree["metadata"]
        where = str(metadata.get("namespace") or "default")
        self.parameters.append(
            Parameter(
                name="name", type="dns-label", title="Name", default=name, longest=48, help="of the new job"
            )
        )
        metadata["name"] = {"$param": "name"}
        if self._offer("namespace", "dns-label", "Namespace", where, choices_from="namespaces"):
            metadata["namespace"] = {"$param": "namespace"}

    def queue(self) -> None:
        labels = mapping(self._tree["metadata"].get("labels"))
        for label, name, title, source, type_ in (
            (QUEUE_LABEL, "queue", "Queue", "localqueues", "dns-label"),
            (PRIORITY_LABEL, "priority", "Priority", "priority-classes", "text"),
        ):
            value = labels.get(label)
            if (
                isinstance(value, str)
                and value
                and self._offer(name, type_, title, value, choices_from=source)
            ):
                labels[label] = {"$param": name}

    def gpus(self) -> None:
        """Devices of each member, where all that have some have as many."""
        found = [
            (amounts(one, part), resource)
            for _role, template in pod_templates(self._tree)
            for one in containers(template)
            if (resource := _gpu_resource(one))
            for part in ("limits", "requests")
            if resource in amounts(one, part)
        ]
        counts = {str(holder[resource]) for holder, resource in found}
        text = next(iter(counts)) if len(counts) == 1 else ""
        if not text.isdigit() or int(text) < 1:
            return
        if not self._offer("gpus", "integer", "GPUs each", text, unit="GPUs", minimum="1", maximum="16"):
            return
        for holder, resource in found:
            is_text = isinstance(holder[resource], str)
            holder[resource] = {"$text": {"$param": "gpus"}} if is_text else {"$param": "gpus"}
        spec = mapping(self._tree.get("spec"))
        if spec.get("slotsPerWorker") == int(text):
            spec["slotsPerWorker"] = {"$param": "gpus"}
            self._slots = "gpus"
            self._slots_before = int(text)

    def size(self) -> None:
        spec = mapping(self._tree.get("spec"))
        worker = mapping(mapping(spec.get("mpiReplicaSpecs")).get("Worker"))
        if _is_count(worker.get("replicas")):
            self._workers(worker, ("replicas",))
        elif self._tree.get("kind") == "Job" and _is_count(spec.get("parallelism")):
            # An Indexed Job has one index a member; without them `completions` is the amount of work.
            both = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec["parallelism"]
            self._workers(spec, ("parallelism", "completions") if both else ("parallelism",))

    def _workers(self, holder: dict[str, Any], keys: tuple[str, ...]) -> None:
        before = holder[keys[0]]
        if self._offer(
            "workers", "integer", "Workers", str(before), unit="pods", minimum="1", maximum="4096"
        ):
            for key in keys:
                holder[key] = {"$param": "workers"}
            self._processes(before)

    def _processes(self, workers: int) -> None:
        """Follow the size where a command names the number of processes: workers x slots."""
        slots = self._slots_before if isinstance(self._slots, str) else self._slots
        if not _is_count(slots):
            return
        for _role, template in pod_templates(self._tree):
            for one in containers(template):
                for key in ("command", "args"):
                    words = one.get(key)
                    if not isinstance(words, list):
                        continue
                    for at in range(1, len(words)):
                        if words[at - 1] in _COUNTS and words[at] == str(workers * slots):
                            words[at] = {"$text": {"$product": ["workers", self._slots]}}

    def pods(self) -> None:
        templates = [one for _role, one in pod_templates(self._tree)]
        every = [one for template in templates for one in containers(template)]
        with_gpus = [one for one in every if _gpu_resource(one)] or every
        images = {one.get("image") for one in every}
        image = next(iter(images)) if len(images) == 1 else None
        if isinstance(image, str) and self._offer("image", "image", "Image", image):
            for one in every:
                one["image"] = {"$param": "image"}
        self._memory(with_gpus)
        if len(every) == 1 or len(with_gpus) == 1:
            self._words(with_gpus[0])

    def _memory(self, with_gpus: list[dict[str, Any]]) -> None:
        limits = {str(amounts(one, "limits").get("memory", "")) for one in with_gpus}
        old = next(iter(limits)) if len(limits) == 1 else ""
        if not old or not self._offer("memory", "quantity", "Memory each", old, minimum="1Mi"):
            return
        for one in with_gpus:
            amounts(one, "limits")["memory"] = {"$param": "memory"}
            if str(amounts(one, "requests").get("memory", "")) == old:
                amounts(one, "requests")["memory"] = {"$param": "memory"}

    def _words(self, container: dict[str, Any]) -> None:
        for key, title in (("command", "Command"), ("args", "Arguments")):
            words = container.get(key)
            if not isinstance(words, list) or not words or not all(isinstance(one, str) for one in words):
                continue
            text = shlex.join(words)
            # A field is one line, and a word of many lines (a script) would not come back as it was.
            if "\n" in text or not _gives_back(key, text, words):
                continue
            if self._offer(key, "command", title, text):
                container[key] = [{"$splice": key}]


def _gives_back(name: str, text: str, words: list[str]) -> bool:
    try:
        found = read(Parameter(name=name, type="command", default=text), text)
    except BadInput:
        return False
    return found == tuple(words)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 4096


def _gpu_resource(container: Mapping[str, Any]) -> str:
    return next((one for one in GPU_RESOURCES if one in amounts(container, "limits")), "")
