"""The kinds that are served: their names, what each has besides its objects, and the rules of its own."""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from cockpit.kube.resource import Resource
from cockpit.sim.port import Tree
from cockpit.sim.server.refusals import Cause
from cockpit.sim.server.schema.shape import SchemaShape

Complete = Callable[[Tree], Tree]
"""Fills in what the caller left out. Answers a tree; the one handed in is shared and stays as it is."""

Check = Callable[[Tree, Tree | None], Iterable[Cause]]
"""What is wrong with a new tree, given the old one (None at creation)."""

Decode = Callable[[Tree, str], tuple[Tree, tuple[str, ...]]]
"""A tree as sent and the field validation asked for -> what is known of it, and warnings.

Raises PortError 400 for "Strict" and unknown fields.
"""

Revise = Callable[[Tree, Tree | None], Tree]
"""What the server itself writes into a new tree at a write of spec (old is None at creation)."""

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


class ScaleSubresource(msgspec.Struct, frozen=True):
    """Paths of the scale subresource, as keys from the root of the object."""

    replicas: tuple[str, ...] = ("spec", "replicas")
    status_replicas: tuple[str, ...] = ("status", "replicas")
    selector: tuple[str, ...] = ()
    """A text in a custom kind, a LabelSelector in a workload."""
    is_label_map: bool = False
    """The selector is a map of labels."""


class ServedKind(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One resource as it is served in one version.

    `store` is where its objects lie when another version or group owns them (events of both groups);
    `to_stored` and `to_served` translate then. `fields` are the field labels that selectors may name, each
    with its path.
    """

    resource: Resource
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    has_status: bool = False
    """Status is written by its subresource only."""
    scale: ScaleSubresource | None = None
    has_generation: bool = False
    is_custom: bool = False
    name_rule: str = "subdomain"
    """How its names are checked: subdomain, label (RFC 1123), label-1035 or path."""
    is_path_creatable: bool = False
    """A PUT or an apply to a missing name creates (an apply may for every kind)."""
    is_graceful: bool = False
    deletion_returns_object: bool = False
    default_propagation: str = "Background"
    """What a delete without policy means: Background, or Orphan."""
    fields: dict[str, tuple[str, ...]] = {}
    absent_fields: dict[str, str] = {}
    """What a field label reads where the object has no such field ("" if not named here)."""
    keeps_status_at_create: bool = False
    complete_status: tuple[Complete, ...] = ()
    """Of the whole object, after a write of its status."""
    kept_status: tuple[str, ...] = ()
    """Members of a status that a write without them leaves as they were."""
    is_update_unconditional: bool = True
    """A PUT may leave out the resource version."""
    delete_warning: str = ""
    """Said when a delete names no propagation policy."""
    complete: tuple[Complete, ...] = ()
    revise: tuple[Revise, ...] = ()
    checks: tuple[Check, ...] = ()
    status_checks: tuple[Check, ...] = ()
    decode: Decode | None = None
    """Of custom kinds: drops what the schema does not know and fills in its defaults."""
    shape: SchemaShape | None = None
    """What its objects look like, for patches, managed fields and, of built-in kinds, decoding."""
    generation_parts: tuple[str, ...] = ("spec",)
    """Whose change counts as a new generation; () all but metadata and status, ("",) none."""
    mark_ending: Callable[[Tree, str], Tree] | None = None
    """(tree, now) -> what it says of itself once its deletion was asked for; it gets no grace period then."""
    is_generation_of_annotations: bool = False
    """Changed annotations count as a new generation, too."""
    store: Resource | None = None
    to_stored: Complete | None = None
    to_served: Complete | None = None

    @property
    def list_kind(self) -> str:
        """`PodList`."""
        return f"{self.resource.kind}List"

    @property
    def shelf(self) -> Resource:
        """Where its objects lie."""
        return self.store or self.resource


class Kinds:
    """The kinds served at the moment. `listeners` hear of every change (discovery, OpenAPI)."""

    def __init__(self, kinds: Iterable[ServedKind] = ()) -> None:
        self._kinds: dict[tuple[str, str, str], ServedKind] = {}
        self.listeners: list[Callable[[], None]] = []
        self.revision = 0
        for kind in kinds:
            self.add(kind)

    def __iter__(self) -> Iterator[ServedKind]:
        return iter(list(self._kinds.values()))

    def add(self, kind: ServedKind) -> None:
        """Serve a kind, in place of one with the same group, version and plural."""
        resource = kind.resource
        self._kinds[(resource.group, resource.version, resource.plural)] = kind
        self._changed()

    def remove(self, resource: Resource) -> None:
        """Serve it no longer. What was stored stays."""
        if self._kinds.pop((resource.group, resource.version, resource.plural), None) is not None:
            self._changed()

    def find(self, group: str, version: str, plural: str) -> ServedKind | None:
        """By the parts of a path."""
        return self._kinds.get((group, version, plural))

    def of(self, resource: Resource) -> ServedKind | None:
        """By resource."""
        return self._kinds.get((resource.group, resource.version, resource.plural))

    def by_kind(self, api_version: str, kind: str) -> ServedKind | None:
        """By what an object says of itself."""
        for one in self._kinds.values():
            if one.resource.kind == kind and one.resource.api_version == api_version:
                return one
        return None

    def _changed(self) -> None:
        self.revision += 1
        for listener in self.listeners:
            listener()
