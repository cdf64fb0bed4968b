"""RBAC: what one PolicyRule of a role allows.

Source: kube-apiserver 1.36, plugin/pkg/auth/authorizer/rbac (RuleAllows) and pkg/apis/rbac/v1
(evaluation_helpers.go).
"""

from typing import Any, NamedTuple

ALL = "*"


class PolicyRule(NamedTuple):
    """One rule of a role. `names` () means every name; `urls` are paths beside the resources."""

    verbs: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()

    def is_about(self, verb: str, group: str, resource: str, subresource: str = "") -> bool:
        """True where the rule allows the verb on such objects, be it on those of some names alone."""
        return (
            _has(self.verbs, verb)
            and _has(self.groups, group)
            and (
                _has(self.resources, f"{resource}/{subresource}" if subresource else resource)
                or (bool(subresource) and f"{ALL}/{subresource}" in self.resources)
            )
        )

    def names_one(self, name: str) -> bool:
        """True where the rule is for the object of that name; "" is a request that names none."""
        return not self.names or name in self.names

    def allows_url(self, verb: str, path: str) -> bool:
        """True where the rule allows the verb (an HTTP method in lower case) on a path such as `/healthz`."""
        return _has(self.verbs, verb) and any(
            url in (ALL, path) or (url.endswith(ALL) and path.startswith(url.rstrip(ALL)))
            for url in self.urls
        )


def _has(words: tuple[str, ...], word: str) -> bool:
    return word in words or ALL in words


def rule_of(tree: Any) -> PolicyRule | None:
    """A rule as it stands in a role or in a review; None for what has no shape of one."""
    if not isinstance(tree, dict):
        return None
    told = [tree.get(key) or [] for key in _KEYS]
    if not all(isinstance(item, list | tuple) for item in told):
        return None
    return PolicyRule(*(tuple(map(str, item)) for item in told))


_KEYS = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")


def tree_of(rule: PolicyRule) -> dict[str, list[str]]:
    """The rule as it stands in a role; empty parts are left out."""
    parts = zip(_KEYS, rule, strict=True)
    return {key: list(texts) for key, texts in parts if texts or key == "verbs"}
