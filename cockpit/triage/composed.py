"""A job that is made of jobs (JobSet, TrainJob): why it has not made the part that computes.

Such objects are read on demand; their fields, not the rows of jobs, tell of parts that are not there yet.
"""

from collections.abc import Iterator, Mapping, Sequence

from cockpit.catalogue import TextPlace, understand
from cockpit.catalogue.cause import Cause
from cockpit.clean import clean
from cockpit.gangs.draft import draft
from cockpit.model.finding import Evidence, Finding
from cockpit.triage.context import Context, Tree

COMPOSED = (("trainer.kubeflow.org/v1alpha1", "TrainJob"), ("jobset.x-k8s.io/v1alpha2", "JobSet"))
"""apiVersion and kind, from the top down: a TrainJob makes a JobSet of its name."""


def not_made(namespace: str, name: str, context: Context) -> Finding | None:
    """Why the objects of that name have not made their jobs, None where they were not read."""
    for _, kind in COMPOSED:
        tree = context.tree(kind, namespace, name)
        found = None if tree is None else _failed(tree, kind, namespace) or _waits(tree, namespace)
        if found is not None:
            return found
    return None


def _failed(tree: Tree, kind: str, namespace: str) -> Finding | None:
    """Its controller refuses it: the runtime that it names, or what the condition says."""
    for one in _list(_map(tree.get("status")).get("conditions")):
        if one.get("type") != "Failed" or one.get("status") != "True":
            continue
        reason, told = _text(one.get("reason")), _text(one.get("message"))
        said = Evidence(f"{kind} {namespace}/{_name(tree)}", "condition Failed", f"{reason}: {told}")
        known = understand(TextPlace.CREATE, f"{reason}: {told}")
        if known is not None:
            return draft(known.cause, known.wording.words, names=dict(known.names), evidence=(said,))
        if reason == "TrainingRuntimeNotSupported":
            runtime = _text(_map(_map(tree.get("spec")).get("runtimeRef")).get("name")) or "?"
            text = "training runtime {runtime} is not supported: {why}"
            return draft(
                Cause.RUNTIME_MISSING, text, names={"runtime": runtime, "why": told}, evidence=(said,)
            )
    return None


def _waits(tree: Tree, namespace: str) -> Finding | None:
    """A part that is made once another one is ready or complete, which it is not."""
    spec, status = _map(tree.get("spec")), _map(tree.get("status"))
    parts = {_text(one.get("name")): one for one in _list(spec.get("replicatedJobs"))}
    counts = {_text(one.get("name")): one for one in _list(status.get("replicatedJobsStatus"))}
    for name, part in parts.items():
        own = counts.get(name, {})
        if any(own.get(key) for key in ("active", "ready", "succeeded", "failed")):
            continue
        for first, is_ready in _before(part):
            done, wanted = _done(counts.get(first, {}), is_ready), _count(parts.get(first, {}))
            if done >= wanted:
                continue
            end = "to be ready" if is_ready else "to complete"
            where = Evidence(f"JobSet {namespace}/{_name(tree)}", "replicatedJobsStatus", f"{first}: {done}")
            return draft(
                Cause.WAITS_FOR_DEPENDENCY,
                f"{{part}} waits for {{first}} {end}: {{done}} of {{wanted}} so far",
                names={"part": name, "first": first, "done": done, "wanted": wanted},
                evidence=(where,),
            )
    return None


def _before(part: Tree) -> Iterator[tuple[str, bool]]:
    """What the part depends on, and whether that only has to be ready."""
    for one in _list(part.get("dependsOn")):
        yield _text(one.get("name")), one.get("status") == "Ready"


def _done(counts: Tree, is_ready: bool) -> int:
    keys = ("ready", "succeeded") if is_ready else ("succeeded",)
    return sum(count for key in keys if isinstance(count := counts.get(key), int))


def _count(part: Tree) -> int:
    count = part.get("replicas", 1)
    return count if isinstance(count, int) else 1


def _name(tree: Tree) -> str:
    return _text(_map(tree.get("metadata")).get("name"))


def _text(value: object) -> str:
    """Of an object that nobody decoded: safe for a terminal."""
    return clean(value) if isinstance(value, str) else ""


def _map(value: object) -> Tree:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> Sequence[Tree]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
