"""Aggregated cluster roles: their rules are those of every role that their selectors find."""

from collections.abc import Iterable, Mapping
from typing import Any

from cockpit.sim.port import Tree
from cockpit.sim.server.rights.rules import Rule, rules_of


def _matches(selector: Tree, labels: Mapping[str, str]) -> bool:
    """A `metav1.LabelSelector`; an empty one finds everything."""
    wanted: Mapping[str, str] = selector.get("matchLabels") or {}
    if any(labels.get(name) != value for name, value in wanted.items()):
        return False
    return all(_meets(one, labels) for one in selector.get("matchExpressions") or ())


def _meets(expression: Tree, labels: Mapping[str, str]) -> bool:
    value = labels.get(expression["key"])
    values: Iterable[Any] = expression.get("values") or ()
    match expression["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    return False


def cluster_rules(roles: Iterable[Tree]) -> dict[str, tuple[Rule, ...]]:
    """The rules of every ClusterRole by name.

    An aggregated role holds the union, in the order of the names of what was found, without repeats. Its
    own `rules` count for nothing: the controller of the real cluster overwrites them. What an aggregated
    role holds may be aggregated again (edit takes in view), so this goes on until nothing changes.
    """
    by_name = {tree["metadata"]["name"]: tree for tree in roles}
    names = sorted(by_name)
    found: dict[str, tuple[Rule, ...]] = {
        name: () if "aggregationRule" in by_name[name] else rules_of(by_name[name]) for name in names
    }
    parents = {
        name: tuple(one for one in names if one != name and _takes_in(by_name[name], by_name[one]))
        for name in names
        if "aggregationRule" in by_name[name]
    }
    for _ in range(len(parents) + 1):
        before = dict(found)
        for name, sources in parents.items():
            found[name] = tuple(dict.fromkeys(rule for source in sources for rule in found[source]))
        if found == before:
            break
    return found


def _takes_in(role: Tree, other: Tree) -> bool:
    selectors = (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ()
    labels = other["metadata"].get("labels") or {}
    return any(_matches(selector, labels) for selector in selectors)


def stale_roles(roles: Iterable[Tree]) -> list[Tree]:
    """Aggregated roles whose stored rules are not what they aggregate, as they ought to be stored."""
    roles = list(roles)
    found = cluster_rules(roles)
    return [
        {**tree, "rules": [rule.tree() for rule in found[tree["metadata"]["name"]]]}
        for tree in roles
        if "aggregationRule" in tree and rules_of(tree) != found[tree["metadata"]["name"]]
    ]
