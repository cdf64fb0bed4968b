"""Objects that a pod names and that do not exist: a ServiceAccount, a PriorityClass, a ConfigMap."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from cockpit.gangs.wording import short
from cockpit.model.finding import Subject
from cockpit.triage.changes.offer import FREE, ChangeOffers, Desk, made
from cockpit.triage.context import Tree, Trees

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


def create_named(desk: Desk) -> ChangeOffers:
    """To create what its pods name and what does not exist."""
    space = desk.wanted.namespace
    for one in sorted(missing_of(desk.pod_specs, space, desk.view.trees)):
        words, plural = _WORDS[one.kind]
        is_wide = one.kind in _WIDE
        place = () if is_wide else ("-n", space)
        more = ("--value=0",) if one.kind == "PriorityClass" else ()
        metadata = {"name": one.name, **({} if is_wide else {"namespace": space})}
        yield made(
            desk,
            FREE + 1,
            "create",
            f"create {words} {short(one.name)}" + ("" if is_wide else f" in {short(space)}"),
            ("kubectl", "create", plural, one.name, *place, *more),
            target=Subject(plural, "" if is_wide else space, one.name),
            trees=({"apiVersion": "v1", "kind": one.kind, "metadata": metadata},),
        )


def missing_of(specs: Iterable[Mapping[str, Any]], space: str, trees: Trees) -> set[Named]:
    """What these pod specs name and what does not exist; nothing of kinds that were not read."""
    named = {one for spec in specs for one in named_by(spec)}
    known = {one: trees.get((one.kind, "" if one.kind in _WIDE else space)) for one in named}
    return {
        one
        for one, some in known.items()
        if some is not None and all(tree["metadata"].get("name") != one.name for tree in some)
    }


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
