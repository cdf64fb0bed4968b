"""Objects that a pod names and that do not exist: a ServiceAccount, a PriorityClass, a ConfigMap. Nothing but
making them helps, and where a pod has its node already, nothing else is needed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from cockpit.fit.pod_sets import pod_sets
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.triage.changes.offer import short
from cockpit.triage.cluster_view import ClusterView
from cockpit.triage.verdict import Change, Subject
from cockpit.triage.wanted import Tree, job_of, tree_of

_WORDS: Final = {
    "ServiceAccount": ("service account", "serviceaccount"),
    "ConfigMap": ("ConfigMap", "configmap"),
    "PriorityClass": ("PriorityClass", "priorityclass"),
}
"""In words, and as kubectl calls the kind."""
_WIDE: Final = ("PriorityClass",)


class Named(NamedTuple):
    """An object that a pod cannot do without."""

    kind: str
    name: str


def create_named(subject: Subject, view: ClusterView) -> Change | None:
    """To create the one object that is missing; None where none is, or several are."""
    specs, space = _specs(subject, view)
    missing = {one for spec in specs for one in named_by(spec) if not _exists(view, one, space)}
    if len(missing) != 1:
        return None
    (one,) = missing
    words, plural = _WORDS[one.kind]
    where = "" if one.kind in _WIDE else f" in {short(space)}"
    place = () if one.kind in _WIDE else ("-n", space)
    more = ("--value=0",) if one.kind == "PriorityClass" else ()
    return Change(
        kind="create",
        words=f"create {words} {short(one.name)}{where}",
        command=("kubectl", "create", plural, one.name, *place, *more),
        target=Subject(plural, "" if one.kind in _WIDE else space, one.name),
    )


def _exists(view: ClusterView, one: Named, space: str) -> bool:
    """True where it does, and where nobody read such objects."""
    where = "" if one.kind in _WIDE else space
    if (one.kind, where) not in view.trees:
        return True
    return tree_of(view, one.kind, where, one.name) is not None


def _specs(subject: Subject, view: ClusterView) -> tuple[list[Mapping[str, Any]], str]:
    """The pod specs of the subject and their namespace: of pods that are there, else of the job's object."""
    if subject.kind == "pod":
        return _pod_specs([subject.name], subject.namespace, view), subject.namespace
    job = job_of(subject, view) if subject.kind in ("job", "gang") else None
    if job is None:
        return [], subject.namespace
    tree = tree_of(view, job.kind, job.namespace, job.name)
    members = [pod.name for pod in view.jobs.members(job.key) if not pod.is_finished]
    if members:
        return _pod_specs(members, job.namespace, view), job.namespace
    return ([one.pod_spec for one in pod_sets(tree)] if tree is not None else []), job.namespace


def _pod_specs(names: Iterable[str], space: str, view: ClusterView) -> list[Mapping[str, Any]]:
    trees = (tree_of(view, "Pod", space, name) for name in names)
    return [tree["spec"] for tree in trees if tree is not None and isinstance(tree.get("spec"), Mapping)]


def is_bound(subject: Subject, view: ClusterView) -> bool:
    """Whether every pod of it has its node."""
    if subject.kind == "pod":
        pod: Pod | None = view.store.by_key(Kind.POD, subject.key)
        return pod is not None and bool(pod.node)
    job = job_of(subject, view)
    members = () if job is None else view.jobs.members(job.key)
    return bool(members) and all(pod.node for pod in members)


def named_by(spec: Mapping[str, Any]) -> Iterator[Named]:
    """What a pod spec names and cannot do without; optional references are left out."""
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if isinstance(account, str) and account:
        yield Named("ServiceAccount", account)
    priority = spec.get("priorityClassName")
    if isinstance(priority, str) and priority and not priority.startswith("system-"):
        yield Named("PriorityClass", priority)
    maps = [one.get("configMap") for one in _items(spec.get("volumes"))]
    for volume in _items(spec.get("volumes")):
        maps += [one.get("configMap") for one in _items(_tree(volume.get("projected")).get("sources"))]
    for container in (*_items(spec.get("containers")), *_items(spec.get("initContainers"))):
        maps += [one.get("configMapRef") for one in _items(container.get("envFrom"))]
        values = (_tree(one.get("valueFrom")) for one in _items(container.get("env")))
        maps += [one.get("configMapKeyRef") for one in values]
    for one in maps:
        name = _tree(one).get("name")
        if isinstance(name, str) and name and _tree(one).get("optional") is not True:
            yield Named("ConfigMap", name)


def _tree(value: Any) -> Tree:
    return value if isinstance(value, Mapping) else {}


def _items(value: Any) -> Sequence[Tree]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
