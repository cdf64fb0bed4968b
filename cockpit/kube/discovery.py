"""Which resources a server serves: aggregated discovery in two requests, the old way as the fallback."""

import asyncio
import json
from typing import Any

import msgspec

from cockpit.errors import BadInput, NoConnection
from cockpit.k8s.json_values import mappings
from cockpit.kube.answer import ApiAnswer
from cockpit.kube.refusal import refused
from cockpit.kube.resource import Resource
from cockpit.kube.session import ApiSession
from cockpit.model.object_table import ObjectKind
from cockpit.sanitise import WORDS, clean

AGGREGATED = ",".join(
    (
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
        "application/json",
    )
)
"""Accept header (source: KEP-3352; v2 from 1.30, v2beta1 from 1.27)."""

OLD_WAY_AT_ONCE = 6


class ServedResource(msgspec.Struct, frozen=True):
    """One resource in one version, with what can be done to it."""

    resource: Resource
    verbs: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    short_names: tuple[str, ...] = ()

    @property
    def can_watch(self) -> bool:
        return "list" in self.verbs and "watch" in self.verbs


class Served:
    """What a server serves, versions in the server's order of preference."""

    def __init__(self, resources: tuple[ServedResource, ...], incomplete: tuple[str, ...] = ()) -> None:
        self.resources = resources
        self.incomplete = incomplete  # group versions whose own API server did not answer
        self._by_name: dict[tuple[str, str], list[ServedResource]] = {}
        for resource in resources:
            for word in {resource.resource.plural, resource.resource.kind.lower()}:
                self._by_name.setdefault((resource.resource.group, word), []).append(resource)

    def find(self, group: str, kind_or_plural: str, version: str = "") -> Resource | None:
        """The resource in its preferred version (or in `version`), None where it is not served."""
        one = self.entry(group, kind_or_plural, version)
        return None if one is None else one.resource

    def entry(self, group: str, kind_or_plural: str, version: str = "") -> ServedResource | None:
        """As `find`, with verbs and subresources."""
        for item in self._by_name.get((group, kind_or_plural.lower()), ()):
            if not version or item.resource.version == version:
                return item
        return None

    def resource(self, api_version: str, kind: str) -> Resource:
        """The resource of a kind of that group, in the version that the server prefers. Raises BadInput."""
        found = self.find(api_version.rpartition("/")[0], kind)
        if found is None:
            raise BadInput(f"this server does not serve {kind} of {api_version}")
        return found

    def listed_kinds(self) -> tuple[ObjectKind, ...]:
        """Kinds that can be listed, each in its preferred version, in the server's order: without secrets,
        which are never read."""
        found: dict[tuple[str, str], ObjectKind] = {}
        for item in self.resources:
            place = item.resource
            if "list" not in item.verbs or place.plural == "secrets":
                continue
            names = (place.plural, place.kind.lower(), *item.short_names)
            kind = ObjectKind(place.api_version, place.kind, place.plural, names, place.namespaced)
            found.setdefault((place.group, place.plural), kind)
        return tuple(found.values())

    def groups(self) -> frozenset[str]:
        """Names of the groups; "" is core."""
        return frozenset(resource.resource.group for resource in self.resources)


class ServedReads:
    """What a server serves, asked again and again: an answer that has not changed costs a line.

    Aggregated discovery has an ETag (KEP-3352) and is answered with 304 where it is the same.
    """

    def __init__(self, session: ApiSession) -> None:
        self.is_cheap = False
        """True where two requests tell all, by a line each where nothing has changed."""
        self._session = session
        self._etags: dict[str, str] = {}
        self._trees: dict[str, dict[str, Any]] = {}
        self._served: Served | None = None

    async def read(self) -> Served:
        """The same object as before where nothing has changed. Raises as `discover`."""
        core, groups = await asyncio.gather(self._tree("/api"), self._tree("/apis"))
        if self._served is None or core is not None or groups is not None:
            trees = (self._trees["/api"], self._trees["/apis"])
            self._served = await _served(self._session, trees)
            self.is_cheap = all(tree.get("kind") == "APIGroupDiscoveryList" for tree in trees)
        return self._served

    async def _tree(self, path: str) -> dict[str, Any] | None:
        """A document that is new; None where the one that is kept holds."""
        etag = self._etags.get(path, "")
        answer = await self._session.request(
            "GET", path, accept=AGGREGATED, headers=(("If-None-Match", etag),) if etag else ()
        )
        if answer.status == 304 and etag:
            return None
        tree = self._trees[path] = _document(answer, path)
        self._etags[path] = answer.etag if tree.get("kind") == "APIGroupDiscoveryList" else ""
        return tree


async def discover(session: ApiSession) -> Served:
    """Ask the server. Raises NoConnection without an answer, Refused where discovery is not allowed."""
    return await ServedReads(session).read()


async def _served(session: ApiSession, trees: tuple[dict[str, Any], ...]) -> Served:
    resources: list[ServedResource] = []
    incomplete: list[str] = []
    old: list[tuple[str, str]] = []
    for tree in trees:
        if tree.get("kind") == "APIGroupDiscoveryList":
            _aggregated(tree, resources, incomplete)
        else:
            old.extend(_versions(tree))
    if old:
        await _old_way(session, old, resources, incomplete)
    return Served(tuple(resources), tuple(incomplete))


def _document(answer: ApiAnswer, path: str) -> dict[str, Any]:
    if answer.status == 404:
        return {}
    if not answer.ok:
        raise refused(f"The server refuses discovery ({path})", answer, path)
    tree = answer.json()
    if not isinstance(tree, dict):
        raise NoConnection(f"The server's answer to {path} is not a discovery document.")
    return tree


def _words(value: Any) -> tuple[str, ...]:
    return tuple(WORDS[item] for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _aggregated(tree: dict[str, Any], resources: list[ServedResource], incomplete: list[str]) -> None:
    """Entries of an APIGroupDiscoveryList; groups and versions come in order of preference."""
    for group in mappings(tree.get("items")):
        name = str((group.get("metadata") or {}).get("name") or "")
        for version in mappings(group.get("versions")):
            number = str(version.get("version") or "")
            if version.get("freshness") == "Stale":
                incomplete.append(clean(f"{name}/{number}" if name else number))
            for raw in mappings(version.get("resources")):
                kind = (raw.get("responseKind") or {}).get("kind")
                plural = raw.get("resource")
                if not isinstance(kind, str) or not isinstance(plural, str):
                    continue
                resources.append(
                    ServedResource(
                        Resource(
                            WORDS[name],
                            WORDS[number],
                            WORDS[plural],
                            WORDS[kind],
                            raw.get("scope") == "Namespaced",
                        ),
                        _words(raw.get("verbs")),
                        tuple(
                            WORDS[str(sub.get("subresource", ""))]
                            for sub in mappings(raw.get("subresources"))
                        ),
                        _words(raw.get("shortNames")),
                    )
                )


def _versions(tree: dict[str, Any]) -> list[tuple[str, str]]:
    """Group and version of an APIVersions or APIGroupList, preferred versions first."""
    if tree.get("kind") == "APIVersions":
        return [("", word) for word in _words(tree.get("versions"))]
    out: list[tuple[str, str]] = []
    for group in mappings(tree.get("groups")):
        name = str(group.get("name") or "")
        preferred = str((group.get("preferredVersion") or {}).get("version") or "")
        versions = [str(item.get("version") or "") for item in mappings(group.get("versions"))]
        versions.sort(key=lambda version: version != preferred)
        out.extend((name, version) for version in versions if version)
    return out


async def _old_way(
    session: ApiSession,
    versions: list[tuple[str, str]],
    resources: list[ServedResource],
    incomplete: list[str],
) -> None:
    """One request for each group version, a few at a time; one that fails is named, the others go on."""
    slots = asyncio.Semaphore(OLD_WAY_AT_ONCE)

    async def ask(group: str, version: str) -> list[ServedResource] | None:
        async with slots:
            answer = await session.request("GET", f"/apis/{group}/{version}" if group else f"/api/{version}")
        if not answer.ok:
            return None
        try:
            return _resource_list(json.loads(answer.body), group, version)
        except (ValueError, RecursionError):
            return None

    answers = await asyncio.gather(*(ask(group, version) for group, version in versions))
    for (group, version), found in zip(versions, answers, strict=True):
        if found is None:
            incomplete.append(clean(f"{group}/{version}" if group else version))
        else:
            resources.extend(found)


def _resource_list(tree: Any, group: str, version: str) -> list[ServedResource]:
    entries = mappings(tree.get("resources")) if isinstance(tree, dict) else []
    below: dict[str, list[str]] = {}
    for raw in entries:
        plural, slash, sub = str(raw.get("name") or "").partition("/")
        if slash:
            below.setdefault(plural, []).append(WORDS[sub])
    out = []
    for raw in entries:
        name, kind = raw.get("name"), raw.get("kind")
        if not isinstance(name, str) or not isinstance(kind, str) or "/" in name:
            continue
        out.append(
            ServedResource(
                Resource(WORDS[group], WORDS[version], WORDS[name], WORDS[kind], bool(raw.get("namespaced"))),
                _words(raw.get("verbs")),
                tuple(below.get(name, ())),
                _words(raw.get("shortNames")),
            )
        )
    return out
