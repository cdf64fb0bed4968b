"""A template made from one job's manifest: its parameters are what one changes between two runs.

Only a leaf that can be given back exactly becomes a parameter; all else stays in the manifest as it is.
"""

import copy
import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from cockpit.errors import BadInput
from cockpit.gangs import registry
from cockpit.gangs.manifests import job_in
from cockpit.jobs.command_words import LaunchWords, launch_words, member_containers
from cockpit.jobs.lint_rules import LintRule
from cockpit.jobs.parameters import Parameter, read
from cockpit.jobs.pod_templates import amounts, containers, pod_templates, ray_workers
from cockpit.jobs.template import Template
from cockpit.jobs.template_match import CommandWords, Match, best_match, recomputed
from cockpit.k8s.gpu_resources import gpu_names
from cockpit.k8s.json_values import mapping

_ORDER: Final = (
    *("name", "namespace", "queue", "priority", "workers", "gpus"),
    *("image", "command", "args", "memory"),
)
_CHECKPOINTS: Final = re.compile(r"--(?:checkpoint|ckpt|save|output)[\w-]*[ =](/[\w./-]+)")
"""The flags by which trainers are told where checkpoints go, with a folder behind them."""


def clone_template(manifest: Mapping[str, Any], name: str, templates: Iterable[Template] = ()) -> Template:
    """The template that makes `manifest` again under `name`, when nothing is filled in.

    `manifest` is what `cockpit.jobs.clone.as_written` made. Where one of `templates` made it, its command is
    the one that that template means, else it is read by kind; what cannot be read is no parameter. Raises
    BadInput for an object without a kind.
    """
    tree = copy.deepcopy(dict(manifest))
    kind = str(tree.get("kind") or "")
    if not kind or not tree.get("apiVersion") or not isinstance(tree.get("metadata"), dict):
        raise BadInput("only a complete object can be cloned: apiVersion, kind and metadata are required")
    _refuse_markers(tree)
    made = _Making(tree)
    made.identity(name)
    made.gpus()
    made.size()
    made.pods()
    made.queue()
    made.command(templates)
    made.parameters.sort(key=lambda one: _ORDER.index(one.name if one.name in _ORDER else "command"))
    return Template(
        name="clone",
        title=f"copy of a {kind}",
        parameters=tuple(made.parameters),
        manifest=tree,
        source="clone",
    )


def shared_checkpoints(form: Template, original: str) -> tuple[LintRule, ...]:
    """What warns while the command of the clone still writes where that of `original` does."""
    return tuple(
        LintRule(
            warn=f"{found[1]} holds the checkpoints of {original}: name another folder, or the clone resumes "
            "from them",
            matches=((parameter.name, re.escape(found[0]) + r"(?![\w./-])"),),
        )
        for parameter in form.parameters
        if parameter.type in ("command", "text")
        for found in _CHECKPOINTS.finditer(parameter.default or "")
    )


def _refuse_markers(value: Any) -> None:
    # A key that begins with $ would be read as a marker when the template is rendered.
    if isinstance(value, dict):
        for key, one in value.items():
            if str(key).startswith("$"):
                raise BadInput(
                    f"the object has a field {key!r}, which a template cannot hold: clone it with kubectl"
                )
            _refuse_markers(one)
    elif isinstance(value, list):
        for one in value:
            _refuse_markers(one)


class _Making:
    """One template while its markers are set into the tree."""

    def __init__(self, tree: dict[str, Any]) -> None:
        self._tree = tree
        self.parameters: list[Parameter] = []

    def _offer(self, name: str, type_: str, title: str, default: str, **more: Any) -> bool:
        """Take the parameter if its default passes its own check; False leaves the leaf as it is."""
        one = Parameter(name=name, type=type_, title=title, default=default, **more)
        return self._offer_one(one, default)

    def _offer_one(self, one: Parameter, stands_for: str | tuple[str, ...]) -> bool:
        """As `_offer`, where the value must come back as `stands_for`: else the leaf would change unasked."""
        if any(one.name == other.name for other in self.parameters):
            return False
        try:
            value = read(one, one.default or "")
        except BadInput:
            return False
        if value != stands_for and str(value) != stands_for:
            return False
        self.parameters.append(one)
        return True

    def identity(self, name: str) -> None:
        metadata = self._tree["metadata"]
        where = str(metadata.get("namespace") or "default")
        self.parameters.append(
            Parameter(
                name="name",
                type="dns-label",
                title="Name",
                default=name,
                longest=48,
                help="name of the new job",
            )
        )
        metadata["name"] = {"$param": "name"}
        if self._offer("namespace", "dns-label", "Namespace", where, choices_from="namespaces"):
            metadata["namespace"] = {"$param": "namespace"}

    def queue(self) -> None:
        labels = mapping(mapping(job_in(self._tree).get("metadata")).get("labels"))
        for engine in registry.engines():
            priority = engine.priority
            if priority is not None:
                self._by_labels(
                    labels,
                    (
                        engine.marks.queue_label,
                        "queue",
                        "Queue",
                        engine.queues.source,
                        "dns-label",
                    ),
                    (priority.label, "priority", "Priority", priority.source, "text"),
                )

    def _by_labels(self, labels: dict[str, Any], *found: tuple[str, str, str, str, str]) -> None:
        for label, name, title, source, type_ in found:
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
            (amounts(container, part), resource)
            for _role, template in pod_templates(self._tree)
            for container in containers(template)
            if (resource := _gpu_resource(container))
            for part in ("limits", "requests")
            if resource in amounts(container, part)
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
        for group in ray_workers(self._tree):
            start = mapping(group.get("rayStartParams"))
            if start.get("num-gpus") == text:
                start["num-gpus"] = {"$text": {"$param": "gpus"}}

    def size(self) -> None:
        spec = mapping(self._tree.get("spec"))
        worker = mapping(mapping(spec.get("mpiReplicaSpecs")).get("Worker"))
        if _is_count(worker.get("replicas")):
            self._workers(worker, ("replicas",))
        elif len(groups := ray_workers(self._tree)) == 1 and _is_count(groups[0].get("replicas")):
            # Where the least and the most are as many, the group does not grow by itself: all three move.
            bounds = [groups[0].get(key) for key in ("minReplicas", "maxReplicas")]
            if bounds == [groups[0]["replicas"]] * 2:
                self._workers(groups[0], ("replicas", "minReplicas", "maxReplicas"))
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

    def pods(self) -> None:
        templates = [one for _role, one in pod_templates(self._tree)]
        every = [container for template in templates for container in containers(template)]
        with_gpus = [item for item in every if _gpu_resource(item)] or every
        images = {item.get("image") for item in every}
        image = next(iter(images)) if len(images) == 1 else None
        if isinstance(image, str) and self._offer("image", "image", "Image", image):
            for item in every:
                item["image"] = {"$param": "image"}
        self._memory(with_gpus)

    def _memory(self, with_gpus: list[dict[str, Any]]) -> None:
        limits = {str(amounts(gpu, "limits").get("memory", "")) for gpu in with_gpus}
        old = next(iter(limits)) if len(limits) == 1 else ""
        if not old or not self._offer("memory", "quantity", "Memory each", old, minimum="1Mi"):
            return
        for gpu in with_gpus:
            amounts(gpu, "limits")["memory"] = {"$param": "memory"}
            if str(amounts(gpu, "requests").get("memory", "")) == old:
                amounts(gpu, "requests")["memory"] = {"$param": "memory"}

    # ---- the command

    def command(self, templates: Iterable[Template]) -> None:
        """What the job runs: as the template that made it means it, else by kind.

        A template without a word of its own fits whatever stands there, so it comes last.
        """
        match = best_match(templates, self._tree)
        is_sure = match is not None and match.fixed > 0
        if match is not None and (is_sure or not self._as_kind()):
            self._as_template(match)
        elif match is None:
            self._as_kind()

    def _as_template(self, match: Match) -> None:
        values = self._values()
        for holder, key, marker in match.numbers:
            found = recomputed(marker, match.names, values, str(holder[key]))
            if found is not None:
                holder[key] = {"$text": found} if isinstance(holder[key], str) else found
        # From the end: what stands before keeps its place. Several roles may run the same.
        places: dict[str, list[CommandWords]] = {}
        for item in sorted(match.commands, key=lambda one: one.begin, reverse=True):
            places.setdefault(item.parameter.name, []).append(item)
        for items in places.values():
            self._splice(items[0].parameter, [(item.words, item.begin, item.end) for item in items])

    def _as_kind(self) -> bool:
        """True where something was read, even if it cannot be offered."""
        spec = mapping(self._tree.get("spec"))
        if self._tree.get("kind") == "TrainJob":
            return self._words_of([mapping(spec.get("trainer"))])
        if self._tree.get("kind") == "RayJob" and isinstance(spec.get("entrypoint"), str):
            if "\n" not in spec["entrypoint"] and self._offer(
                "command", "text", "Command", spec["entrypoint"]
            ):
                spec["entrypoint"] = {"$param": "command"}
            return True
        members = member_containers(self._tree)
        if members:
            return self._words_of(members)
        launch = launch_words(self._tree)
        if launch is None:
            return False
        self._follow_ranks(launch)
        if launch.words is not None:
            one = Parameter(name="command", type="command", title="Command", help="what every rank runs")
            self._splice(one, [(launch.words, launch.begin, len(launch.words))])
        return True

    def _follow_ranks(self, launch: LaunchWords) -> None:
        """Where the launcher names as many ranks as there are slots, they follow the size."""
        slots = mapping(self._tree.get("spec")).get("slotsPerWorker", 1)
        factor = "gpus" if isinstance(slots, dict) else slots
        values = self._values()
        if "workers" not in values or not (factor == "gpus" or _is_count(factor)):
            return
        ranks = int(values["workers"]) * (int(values["gpus"]) if factor == "gpus" else factor)
        for words, at in launch.ranks:
            if words[at] == str(ranks):
                words[at] = {"$text": {"$product": ["workers", factor]}}

    def _words_of(self, holders: list[dict[str, Any]]) -> bool:
        """Parameters for `command` and `args`, which are equal in all of these containers."""
        is_read = False
        for key, title in (("command", "Command"), ("args", "Arguments")):
            lists = [holder.get(key) for holder in holders]
            words = [item for item in lists if isinstance(item, list) and item]
            if words and len(words) == len(lists):
                is_read = True
                one = Parameter(name=key, type="command", title=title)
                self._splice(one, [(item, 0, len(item)) for item in words])
        return is_read

    def _splice(self, one: Parameter, places: list[tuple[list[Any], int, int]]) -> None:
        """Offer the words from begin to end of each of these lists, where all hold the same."""
        held = [tuple(words[begin:end]) for words, begin, end in places]
        words = held[0]
        are_words = all(isinstance(word, str) for item in held for word in item)
        if not words or not are_words or any(item != words for item in held):
            return
        text = shlex.join(words)
        # A field is one line, and a word of many lines (a script) would not come back as it was.
        if "\n" in text or not self._offer_one(msgspec.structs.replace(one, default=text), words):
            return
        for each, begin, end in places:
            each[begin:end] = [{"$splice": one.name}]

    def _values(self) -> dict[str, str]:
        return {parameter.name: parameter.default or "" for parameter in self.parameters}


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 4096


def _gpu_resource(container: Mapping[str, Any]) -> str:
    return next((name for name in gpu_names() if name in amounts(container, "limits")), "")
