"""What the rules of a role allow, asked with the attributes of a request."""

from cockpit.k8s.policy_rules import PolicyRule, rule_of
from cockpit.sim.port import Tree
from cockpit.sim.server.rbac.attributes import Attributes


def allows(rule: PolicyRule, asked: Attributes) -> bool:
    """True when this rule alone allows the request."""
    if not asked.is_resource:
        return rule.allows_url(asked.verb, asked.path)
    is_about = rule.is_about(asked.verb, asked.group, asked.resource, asked.subresource)
    return is_about and rule.names_one(asked.name)


def rules_of(tree: Tree) -> tuple[PolicyRule, ...]:
    """The `rules` of a Role or ClusterRole."""
    found = (rule_of(one) for one in tree.get("rules") or ())
    return tuple(one for one in found if one is not None)
