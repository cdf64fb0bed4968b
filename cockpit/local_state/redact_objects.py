"""Kubernetes objects without what they say about whose they are, so that they can be handed to others.

Names are replaced word by word and everywhere alike: `llm-70b-worker-0` keeps its number and what it shares
with the name of its job. Values of environment variables, commands, data, addresses and annotations that are
no more than text go. What a component wrote stays, but for the names in it.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from cockpit.mask import mask_text

Tree = dict[str, Any]

HIDDEN: Final = "hidden"
_DROPPED: Final = frozenset(
    {
        *("managedFields", "data", "binaryData", "stringData", "args", "command", "images", "addresses"),
        *("podIP", "podIPs", "hostIP", "hostIPs", "clusterIP", "clusterIPs", "providerID", "machineID"),
        *("systemUUID", "bootID", "containerID", "imageID", "volumesInUse", "volumesAttached", "selfLink"),
        *("volumeHandle", "volumeAttributes", "parameters", "mountOptions", "podCIDR", "podCIDRs"),
        *("caBundle", "dnsConfig", "hostAliases", "server", "path", "nodePublishSecretRef", "lifecycle"),
        *("livenessProbe", "readinessProbe", "startupProbe"),
    }
)
_NAMED: Final = frozenset(
    {
        *("name", "namespace", "nodeName", "claimName", "volumeName", "secretName", "serviceAccountName"),
        *("serviceAccount", "priorityClassName", "storageClassName", "queueName", "clusterQueue", "cohort"),
        *("cohortName", "hostname", "subdomain", "image", "runtimeClassName", "topologyName", "flavor"),
        *("generateName", "resourceClaimName", "resourceClaimTemplateName", "nominatedNodeName", "host"),
        *("deviceClassName", "pool", "device", "driver", "workloadPriorityClassName", "serviceName"),
    }
)
"""Fields whose value is a name."""
_SPOKEN: Final = frozenset({"message", "note"})
_MAPS: Final = frozenset({"labels", "nodeSelector", "matchLabels", "nodeLabels"})
_KEPT: Final = frozenset(
    {
        *("worker", "launcher", "master", "leader", "head", "driver", "coordinator", "chief", "main", "ps"),
        *("job", "jobs", "pod", "pods", "node", "nodes", "gpu", "gpus", "cpu", "memory", "queue", "queues"),
        "nodepool",
        *("ephemeral", "storage", "default", "kube", "system", "public", "true", "false", "null", "none"),
        *("mpi", "nvidia", "amd", "intel", "com", "io", "k8s", "kubernetes", "spot", "ready", "unknown"),
        *("low", "high", "normal", "batch", "local", "latest", "v1", "config", "map", "claim", "volume"),
        *("secret", "cluster", "critical", "free", "available", "least", "found", "the", "a", "an", "no"),
        *("not", "of", "in", "on", "is", "are", "to", "for", "with", "by", "at", "and", "or"),
    }
)
"""Words that tell nothing of whose a thing is; without them what components write could not be understood."""
_PUBLIC: Final = ("kubernetes.io", "k8s.io", "nvidia.com", "amd.com", "intel.com", "kubeflow.org", "ray.io")
_BARE: Final = ("job-name", "controller-uid", "pod-group-name", "pod-template-hash", "app", "role")
_PLAIN: Final = ("cpu", "memory", "pods", "ephemeral-storage", "storage")
_UID: Final = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_WORD: Final = re.compile(rf"{_UID}|[A-Za-z0-9]+")
_TOKEN: Final = re.compile(r"[A-Za-z0-9](?:[\w./:@-]*[A-Za-z0-9])?")
_AMOUNT: Final = re.compile(r"[+-]?[\d.]+[A-Za-z]{0,2}")
_ADDRESS: Final = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")


class Redaction:
    """Replaces names in many objects, each everywhere by the same. `public` are further keys, and domains of
    keys, `known` names of components, that tell nothing of whose a thing is."""

    def __init__(self, public: Iterable[str] = (), known: Iterable[str] = ()) -> None:
        self._public = (*_PUBLIC, *public)
        self._kept = _KEPT.union(*(name.split("-") for name in known))
        self._words: dict[str, str] = {}
        self._names: set[str] = set()

    def objects(self, found: Mapping[str, Iterable[Tree]]) -> dict[str, list[Tree]]:
        """The objects of each collection."""
        held = {label: list(trees) for label, trees in found.items()}
        for trees in held.values():
            for tree in trees:
                self._learn(tree, "")
        return {label: [self._tree(tree) for tree in trees] for label, trees in held.items()}

    def name(self, text: str) -> str:
        """A name: `n1-n2-worker-0`; what is a resource or a number stays."""
        if text in _PLAIN or _AMOUNT.fullmatch(text) or self._is_public(text):
            return text
        return _WORD.sub(lambda found: self._word(found[0]), text)

    def text(self, text: str) -> str:
        """What a component wrote, with the names in it replaced."""
        return _ADDRESS.sub("10.0.0.1", _TOKEN.sub(lambda found: self._token(found[0]), mask_text(text)))

    def _word(self, word: str) -> str:
        low = word.lower()
        if (
            word.isdecimal() or low in self._kept or "-" in word
        ):  # the last: a uid, by which objects are joined
            return word
        return self._words.setdefault(low, f"n{len(self._words) + 1}x")

    def _token(self, token: str) -> str:
        if token in self._names:
            return self.name(token)
        parts = token.split("/")
        if len(parts) == 2 and not self._names.isdisjoint(parts) and not self._is_public(token):
            return "/".join(self.name(part) if part in self._names else part for part in parts)
        head, colon, tail = token.partition(":")
        if colon and head in self._names:
            return f"{self.name(head)}:{tail}"
        return self.name(token) if self._is_made_from_name(token) else token

    def _is_made_from_name(self, token: str) -> bool:
        """Whether it is a name with more behind it: a pod that was never made, a port, a revision."""
        cuts = (at for at, letter in enumerate(token) if letter in "-.")
        return any(
            at > 2 and token[:at] in self._names and token[:at].lower() not in self._kept for at in cuts
        )

    def _is_public(self, key: str) -> bool:
        domain, slash, _ = key.partition("/")
        if not slash:
            return key in _BARE or key in self._public
        return any(domain == item or domain.endswith(f".{item}") for item in self._public)

    # ---- which names there are

    def _note(self, name: str) -> None:
        if not name or name in _PLAIN or _AMOUNT.fullmatch(name) or self._is_public(name):
            return
        self._names.add(name)
        if "/" in name or ":" in name:  # an image: its host and its repository are named alone, too
            bare = name.partition("@")[0]
            head, _, tag = bare.rpartition(":")
            repository = head if head and "/" not in tag else bare
            self._names |= {bare, repository, repository.partition("/")[0], repository.rpartition("/")[2]}

    def _learn(self, value: Any, key: str) -> None:
        if isinstance(value, list):
            for one in value:
                self._learn(one, key)
        elif isinstance(value, dict):
            for own, one in value.items():
                if key in _MAPS and isinstance(one, str):
                    self._note(own)
                    self._note(one)
                elif own == "key" and isinstance(one, str):
                    self._note(one)
                    for said in (value.get("value"), *(value.get("values") or ())):
                        self._note(said if isinstance(said, str) else "")
                else:
                    self._learn(one, own)
        elif isinstance(value, str) and key in _NAMED:
            self._note(value)

    # ---- the objects without names

    def _tree(self, tree: Tree, key: str = "") -> Tree:
        if key in _MAPS:
            return {self.name(own): self.name(one) for own, one in tree.items() if isinstance(one, str)}
        if key == "annotations":
            noted = {own: self._annotation(own, one) for own, one in tree.items()}
            return {own: one for own, one in noted.items() if one is not None}
        made: Tree = {}
        for own, one in tree.items():
            if own in _DROPPED or (own == "env" and not isinstance(one, list)):
                continue
            made[own] = self._env(one) if own == "env" else self._value(one, own, tree)
        return made

    def _env(self, values: list[Any]) -> list[Tree]:
        """Only what is read from another object, which has to be there."""
        kept = (value for value in values if isinstance(value, dict) and "valueFrom" in value)
        return [{"name": HIDDEN, "valueFrom": self._tree(item["valueFrom"])} for item in kept]

    def _annotation(self, key: str, value: Any) -> str | None:
        """Only those of known meaning whose value is a name, a number or a word."""
        is_short = isinstance(value, str) and len(value) <= 63 and _TOKEN.fullmatch(value) is not None
        return self.name(value) if is_short and self._is_public(key) else None

    def _value(self, value: Any, key: str, around: Tree) -> Any:
        if isinstance(value, dict):
            return self._tree(value, key)
        if isinstance(value, list):
            return [self._value(item, key, around) for item in value]
        if not isinstance(value, str):
            return value
        if key in _NAMED or (key in ("key", "value", "values") and "key" in around):
            return self.name(value)
        if key in _SPOKEN:
            return self.text(value)
        if value in self._names and key not in ("kind", "type", "status", "reason", "phase", "schedulerName"):
            return self.name(value)
        return HIDDEN if any(item.isspace() for item in value) else value
