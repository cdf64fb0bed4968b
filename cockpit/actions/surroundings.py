"""Asks the server for what a fit depends on and the store does not hold: only for gangs that need it."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from cockpit.fit.scheduling_context import (
    Budget,
    Surroundings,
    attach_limits_of,
    budget_of,
    claim_of,
    storage_class_of,
    volume_of,
)
from cockpit.fit.shape import Part
from cockpit.kube.resource import NAMESPACES, Resource
from cockpit.model.session import Reader

CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", namespaced=True)
VOLUMES = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
CLASSES = Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False)
CSI_NODES = Resource("storage.k8s.io", "v1", "csinodes", "CSINode", namespaced=False)
BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", namespaced=True)
PRIORITIES = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)

Made = TypeVar("Made")


class Needs(NamedTuple):
    """What has to be asked for a gang; equal needs have equal answers for a while."""

    claims_in: str = ""  # the namespace, "" for none
    priorities: bool = False
    namespaces: bool = False


def needs_of(parts: Sequence[Part]) -> Needs:
    """Claims where a member has one, priorities and budgets where one has a priority, labels of namespaces
    where a term selects by them."""
    shapes = [one.shape for one in parts]
    return Needs(
        next((one.namespace for one in shapes if one.claims), ""),
        any(one.priority_class or one.priority for one in shapes),
        any(term.namespace_selector for one in shapes for term in (*one.near, *one.keeps_away)),
    )


async def ask_surroundings(session: Reader, needs: Needs) -> Surroundings:
    """What the server says; what it does not let us read stays None. Raises NoConnection."""
    claims = await _list(session, CLAIMS, claim_of, needs.claims_in) if needs.claims_in else None
    volumes = await _list(session, VOLUMES, volume_of) if claims is not None else None
    classes = await _list(session, CLASSES, storage_class_of) if claims is not None else None
    limits = await _list(session, CSI_NODES, attach_limits_of) if claims is not None else None
    budgets: tuple[Budget, ...] | None = None
    ranks: list[_Rank] | None = None
    if needs.priorities:
        budgets = await ask_budgets(session)
        ranks = await _list(session, PRIORITIES, _rank)
    spaces = None
    if needs.namespaces:
        spaces = await _list(
            session, NAMESPACES, lambda one: (_name(one), dict(one["metadata"].get("labels") or {}))
        )
    if volumes is None or classes is None:
        claims = None  # claims alone say nothing about nodes
    return Surroundings(
        claims=None if claims is None else {one.name: one for one in claims},
        volumes=None if volumes is None else {one.name: one for one in volumes},
        classes=None if classes is None else {one.name: one for one in classes},
        attach_limits=None if limits is None else dict(limits),
        budgets=budgets,
        namespaces=None if spaces is None else dict(spaces),
        priorities=None if ranks is None else {one.name: one.value for one in _with_default(ranks)},
        never_preempting=frozenset(one.name for one in _with_default(ranks or ()) if one.is_never),
    )


async def ask_budgets(session: Reader) -> tuple[Budget, ...] | None:
    """All disruption budgets; None where they may not be listed. Raises NoConnection."""
    found = await _list(session, BUDGETS, budget_of)
    return None if found is None else tuple(found)


class _Rank(NamedTuple):
    """A PriorityClass."""

    name: str
    value: int
    is_default: bool
    is_never: bool  # preemptionPolicy


def _rank(tree: Any) -> _Rank:
    is_default, policy = tree.get("globalDefault") is True, tree.get("preemptionPolicy")
    return _Rank(_name(tree), int(tree.get("value") or 0), is_default, policy == "Never")


def _with_default(ranks: Sequence[_Rank]) -> list[_Rank]:
    """The same with the one that pods without a class get under the name ""; of several the lowest counts."""
    defaults = sorted((one for one in ranks if one.is_default), key=lambda one: one.value)
    return [*ranks, *(one._replace(name="") for one in defaults[:1])]


def _name(tree: Any) -> str:
    return str(tree["metadata"]["name"])


async def _list(
    session: Reader, resource: Resource, make: Callable[[Any], Made], namespace: str = ""
) -> list[Made] | None:
    answer = await session.request("GET", resource.path(namespace))
    if answer.status >= 300:
        return None
    tree = answer.json()
    items = tree.get("items") if isinstance(tree, dict) else None
    return [make(one) for one in items or () if isinstance(one, dict) and one.get("metadata")]
