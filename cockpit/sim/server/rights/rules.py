"""Policy rules: what one allows, whether some cover others, and how an error names what is missing.

The rules are those of `rbac.authorization.k8s.io/v1` as kube-apiserver 1.36 evaluates them.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from cockpit.sim.port import Tree
from cockpit.sim.server.rights.attributes import Attributes, quoted_all

ALL = "*"


class Rule(msgspec.Struct, frozen=True):
    """One `PolicyRule`."""

    verbs: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()

    def allows(self, asked: Attributes) -> bool:
        """True when this rule alone allows the request."""
        if ALL not in self.verbs and asked.verb not in self.verbs:
            return False
        if not asked.is_resource:
            return any(_url_covers(url, asked.path) for url in self.urls)
        return (
            (ALL in self.groups or asked.group in self.groups)
            and self._takes(asked)
            and (not self.names or asked.name in self.names)
        )

    def _takes(self, asked: Attributes) -> bool:
        if ALL in self.resources or asked.combined in self.resources:
            return True
        return bool(asked.subresource) and f"*/{asked.subresource}" in self.resources

    def covers(self, one: "Rule") -> bool:
        """True when this rule grants all that `one` does; `one` is a piece as `pieces` makes them."""
        return (
            (ALL in self.verbs or set(one.verbs) <= set(self.verbs))
            and (ALL in self.groups or set(one.groups) <= set(self.groups))
            and (ALL in self.resources or all(map(self._has_resource, one.resources)))
            and (not self.names or (bool(one.names) and set(one.names) <= set(self.names)))
            and all(any(_url_covers(mine, url) for mine in self.urls) for url in one.urls)
        )

    def _has_resource(self, resource: str) -> bool:
        if resource in self.resources:
            return True
        _, slash, subresource = resource.partition("/")
        return bool(slash) and f"*/{subresource}" in self.resources

    def pieces(self) -> Iterable["Rule"]:
        """The same grant as rules of one verb, group, resource and name (or one verb and path) each."""
        for group in self.groups:
            for resource in self.resources:
                for verb in self.verbs:
                    if not self.names:
                        yield Rule((verb,), (group,), (resource,))
                    for name in self.names:
                        yield Rule((verb,), (group,), (resource,), (name,))
        for url in self.urls:
            for verb in self.verbs:
                yield Rule((verb,), urls=(url,))

    def __str__(self) -> str:
        """As the error about a privilege escalation writes it."""
        parts = (
            ("APIGroups", self.groups),
            ("Resources", self.resources),
            ("NonResourceURLs", self.urls),
            ("ResourceNames", self.names),
            ("Verbs", self.verbs),
        )
        return "{" + ", ".join(f"{word}:{quoted_all(texts)}" for word, texts in parts if texts) + "}"

    def tree(self) -> Tree:
        """As it stands in a role; empty parts are left out."""
        parts = {
            "verbs": self.verbs,
            "apiGroups": self.groups,
            "resources": self.resources,
            "resourceNames": self.names,
            "nonResourceURLs": self.urls,
        }
        return {word: list(texts) for word, texts in parts.items() if texts or word == "verbs"}


def _url_covers(rule: str, path: str) -> bool:
    return rule in (ALL, path) or (rule.endswith("*") and path.startswith(rule.rstrip("*")))


def rules_of(tree: Tree) -> tuple[Rule, ...]:
    """The `rules` of a Role or ClusterRole."""

    def texts(rule: Tree, word: str) -> tuple[str, ...]:
        value: Any = rule.get(word)
        return tuple(value or ())

    return tuple(
        Rule(
            texts(rule, "verbs"),
            texts(rule, "apiGroups"),
            texts(rule, "resources"),
            texts(rule, "resourceNames"),
            texts(rule, "nonResourceURLs"),
        )
        for rule in tree.get("rules") or ()
    )


def missing(held: Sequence[Rule], wanted: Iterable[Rule]) -> list[Rule]:
    """What `wanted` grants beyond `held`, in pieces, those of one resource put together again."""
    lacking = [
        piece for rule in wanted for piece in rule.pieces() if not any(mine.covers(piece) for mine in held)
    ]
    joined: dict[tuple[Any, ...], Rule] = {}
    for piece in lacking:
        key = (piece.groups, piece.resources, piece.names, piece.urls, piece.verbs if piece.urls else ())
        before = joined.get(key)
        joined[key] = (
            piece if before is None else msgspec.structs.replace(before, verbs=before.verbs + piece.verbs)
        )
    return list(joined.values())
