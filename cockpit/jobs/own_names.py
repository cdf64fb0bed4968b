"""A job's manifest under another name, without references to the original.

What the job's own controller names after the job is renamed: hosts and services of its pods, inner objects,
and selectors by the labels that it writes. What may mean the original, or something that is shared with it,
is left as it is and told: paths, services of others, labels. Claims and images are shared by nature.

Sources: mpi-operator pkg/controller/mpi_job_controller.go; training-operator pkg/common/util; jobset
pkg/controllers/jobset_controller.go; volcano pkg/controllers/job/plugins/svc; lws docs/concepts; KubeRay
ray-operator controllers/ray/utils/util.go; kubernetes batch/v1 (Indexed Jobs).
"""

import copy
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, NamedTuple

from cockpit.gangs import registry
from cockpit.k8s.controller_marks import OWN_NAME_LABELS
from cockpit.k8s.json_values import mapping, mappings

_LONGEST: Final = 63
_OWN_SERVICE: Final = ("MPIJob", "JobSet", "TrainJob", "LeaderWorkerSet")
_SHARED: Final = frozenset(
    (
        *("image", "claimName", "secretName", "serviceAccountName", "serviceAccount", "schedulerName"),
        *("priorityClassName", "runtimeClassName", "resourceClaimName", "resourceClaimTemplateName"),
        *("volumeClaimTemplates", "volumeClaimTemplate", "volumes", "volumeMounts", "imagePullSecrets"),
        *("envFrom", "valueFrom", "nodeSelector", "annotations", "resources", "status", "runtimeRef"),
    )
)
"""Fields that name what is no part of the job."""
_NAMES: Final = ("name", "groupName", "namespace", "apiVersion", "kind")
_HOST_FIELDS: Final = ("subdomain", "serviceName", "host", "hostname")
_ADDRESS: Final = re.compile(
    r"(?:ADDR|ADDRESS|HOST|HOSTS|SERVICE|ENDPOINT|MASTER|SERVER|URL|URI)$", re.IGNORECASE
)


class ApartManifest(NamedTuple):
    """`renamed` and `left` tell, a line each, what was renamed and what may still mean the original."""

    manifest: dict[str, Any]
    renamed: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


class _Owner(NamedTuple):
    """An object of the manifest by its name, what its pods' hosts add to it, and whether it has a service of
    its name."""

    old: str
    new: str
    suffix: re.Pattern[str]
    has_service: bool


def apart(manifest: Mapping[str, Any], old: str, kept: Collection[str] = ()) -> ApartManifest:
    """The manifest, which has its new name already, without references to the job called `old`. Texts that
    are `kept` are as a person wrote them just now: they are told and not renamed."""
    tree = copy.deepcopy(dict(manifest))
    new = str(mapping(tree.get("metadata")).get("name") or "")
    if not old or not new or new == old:
        return ApartManifest(tree)
    run = _Renaming(tree, old, new, kept)
    run.go()
    return ApartManifest(tree, tuple(dict.fromkeys(run.renamed)), tuple(dict.fromkeys(run.left)))


class _Renaming:
    def __init__(self, tree: dict[str, Any], old: str, new: str, kept: Collection[str]) -> None:
        self._tree, self._old, self._new, self._kept = tree, old, new, kept
        self.renamed: list[str] = []
        self.left: list[str] = []
        self._owners = {old: _owner(tree, old, new)}
        own = registry.own_job(str(tree.get("apiVersion") or ""), str(tree.get("kind") or ""))
        more = {} if own is None else own.pod_labels(old, "")
        self._labels = (*OWN_NAME_LABELS, *(key for key, value in more.items() if value == old))
        self._text = re.compile("$^")

    def go(self) -> None:
        for inner in _inner_objects(self._tree.get("spec")):
            self._rename_inner(inner)
        names = "|".join(sorted(map(re.escape, self._owners), key=len, reverse=True))
        self._text = re.compile(rf"(?<![A-Za-z0-9_-])({names})((?:-[a-z0-9]+)*)(?![A-Za-z0-9_-])")
        self._walk(self._tree.get("spec"), "spec", "")

    def _rename_inner(self, inner: dict[str, Any]) -> None:
        metadata, kind = inner["metadata"], str(inner["kind"])
        name = str(metadata["name"])
        if kind == "PersistentVolumeClaim":
            self.left.append(f"inner claim {name} keeps its name: {self._old} has made it already")
            return
        rest = name.removeprefix(self._old)
        new = f"{self._new}{rest}" if name != rest and rest[:1] in ("", "-") else f"{self._new}-{name}"
        new = new[:_LONGEST].rstrip("-.")
        self._owners.setdefault(name, _owner(inner, name, new))
        metadata["name"] = new
        self.renamed.append(f"inner {kind.lower()} {name} to {new}")

    # ---- every text of the spec

    def _walk(self, node: Any, key: str, place: str) -> Any:
        """The node with its texts renamed; mappings and lists in place."""
        if isinstance(node, str):
            return self._in_text(node, key, place)
        if isinstance(node, list):
            node[:] = [self._walk(item, key, _place_of(item, key, place)) for item in node]
        elif isinstance(node, dict):
            self._walk_fields(node, key, place)
        return node

    def _walk_fields(self, node: dict[str, Any], above: str, place: str) -> None:
        for key, value in node.items():
            if above in ("labels", "matchLabels"):
                node[key] = self._in_label(str(key), value, above)
            elif key == "values" and isinstance(node.get("key"), str) and isinstance(value, list):
                node[key] = [self._in_label(node["key"], item, "matchLabels") for item in value]
            elif key not in _SHARED and not (key in _NAMES and isinstance(value, str)):
                inner = (
                    str(node["name"]) if key == "value" and isinstance(node.get("name"), str) else str(key)
                )
                node[key] = self._walk(value, inner, place)

    def _in_label(self, key: str, value: Any, part: str) -> Any:
        owner = self._owners.get(value) if isinstance(value, str) else None
        if owner is None:
            return value
        if key in self._labels:
            self.renamed.append(f"selector {key}: {value} to {owner.new}")
            return owner.new
        which = "of its pods" if part == "labels" else "in a selector"
        self.left.append(
            f"label {key}={value} {which} is that of the original: what selects by it means both"
        )
        return value

    def _in_text(self, text: str, key: str, place: str) -> str:
        def one(found: re.Match[str]) -> str:
            owner, suffix = self._owners[found[1]], found[2]
            if suffix and not owner.suffix.fullmatch(suffix):
                return found[0]  # another name that begins alike
            what = f"{key}{place}"
            is_sure = self._is_sure(found, owner, key)
            if is_sure is None:
                return found[0]
            if is_sure and text not in self._kept:
                self.renamed.append(f"{what}: {found[0]} to {owner.new}{suffix}")
                return f"{owner.new}{suffix}"
            self.left.append(
                f"{what} names {found[0]} of the original ({_why(found)}): change it, or both use it"
            )
            return found[0]

        return self._text.sub(one, text)

    @staticmethod
    def _is_sure(found: re.Match[str], owner: _Owner, key: str) -> bool | None:
        """Whether the name in a text means what the job's own controller makes; None: it means no name at
        all."""
        before, after = _around(found)
        if _is_path(before, after):
            return False
        if found[2]:
            return True  # a host of its own pods
        if key == "hostname":
            return True
        if not owner.has_service:
            return False
        is_host = before.endswith((".", "//", "@")) or re.match(r":\d|\.[a-z0-9-]+\.svc", after) is not None
        is_whole = not before.strip(" ,=") and not after.strip(" ,")
        return is_host or (is_whole and (key in _HOST_FIELDS or _ADDRESS.search(key) is not None))


def _owner(tree: Mapping[str, Any], old: str, new: str) -> _Owner:
    """What the controller of such an object names after it."""
    kind, spec = str(tree.get("kind") or ""), mapping(tree.get("spec"))
    roles = [
        str(item).lower() for key in spec if str(key).endswith("ReplicaSpecs") for item in mapping(spec[key])
    ]
    tasks = [str(item.get("name")) for item in mappings(spec.get("tasks"))]
    parts = [str(item.get("name")) for item in mappings(spec.get("replicatedJobs"))]
    any_of = "|".join(map(re.escape, (*roles, *tasks, *parts)))
    match kind:
        case "MPIJob":
            words = rf"-(?:launcher|worker|{any_of})(?:-\d+)?" if any_of else r"-(?:launcher|worker)(?:-\d+)?"
        case "TrainJob":
            words = r"-[a-z0-9-]+-\d+-\d+"
        case "JobSet":
            words = rf"-(?:{any_of})-\d+(?:-\d+)?"
        case "RayCluster":
            words = r"-(?:head-svc|headless-svc|headless|serve-svc)"
        case "LeaderWorkerSet":
            words = r"-\d+(?:-\d+)?"
        case _:
            words = rf"-(?:{any_of})-\d+" if any_of else r"-\d+"
    has_service = kind in _OWN_SERVICE or "svc" in mapping(spec.get("plugins")) or kind == "Service"
    return _Owner(old, new, re.compile(words), has_service)


def _inner_objects(node: Any) -> Iterator[dict[str, Any]]:
    """Objects within the spec that get a name of their own: those of a wrapper."""
    if isinstance(node, dict):
        metadata = node.get("metadata")
        if (
            node.get("apiVersion")
            and node.get("kind")
            and isinstance(metadata, dict)
            and metadata.get("name")
        ):
            yield node
            return
        for key, value in node.items():
            if key not in _SHARED:
                yield from _inner_objects(value)
    elif isinstance(node, list):
        for value in node:
            yield from _inner_objects(value)


def _place_of(item: Any, key: str, place: str) -> str:
    """` of m` below a container called m."""
    is_container = key in ("containers", "initContainers") and isinstance(item, dict)
    return f" of {item.get('name')}" if is_container else place


def _around(found: re.Match[str]) -> tuple[str, str]:
    text = found.string
    return text[: found.start()], text[found.end() :]


def _is_path(before: str, after: str) -> bool:
    """`/ckpt/llm`, `s3://bucket/llm`, `llm/last`; not `tcp://llm:29500/x`."""
    if before.endswith("/") and not before.endswith("//"):
        return True
    return after.startswith("/") and not before.endswith(("//", "."))


def _why(found: re.Match[str]) -> str:
    before, after = _around(found)
    return "a path" if _is_path(before, after) else "by its name"
