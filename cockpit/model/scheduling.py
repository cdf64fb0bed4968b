"""What the placement of one pod depends on in others: selectors, terms, ports, and a pod's own marks."""

import msgspec

from cockpit.model.record import Labels


class Requirement(msgspec.Struct, frozen=True, gc=False):
    """One requirement on labels or fields: In, NotIn, Exists, DoesNotExist; on nodes Gt and Lt too."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


Selector = tuple[Requirement, ...] | None
"""All must hold; () selects everything, None nothing (a label selector that is not there)."""


class PodTerm(msgspec.Struct, frozen=True, gc=False):
    """One required term of pod (anti-)affinity; `namespaces` are resolved but for `namespace_selector`."""

    topology_key: str
    selector: Selector
    namespaces: tuple[str, ...] = ()
    namespace_selector: Selector = None


class HostPort(msgspec.Struct, frozen=True, gc=False):
    """A port of the node; `address` is 0.0.0.0 where none is named."""

    port: int
    protocol: str = "TCP"
    address: str = "0.0.0.0"


class Traits(msgspec.Struct, frozen=True, gc=False):
    """What else of a pod other pods' placement depends on; one object for all pods that are alike.

    `labels` lack those that differ from member to member (rank, pod name). `resources` names everything
    asked for but cpu and memory, and is () where that is devices of a single GPU resource only.
    """

    labels: Labels = ()
    keeps_away: tuple[PodTerm, ...] = ()  # required anti-affinity
    host_ports: tuple[HostPort, ...] = ()
    claims: tuple[str, ...] = ()  # names of PersistentVolumeClaims in its namespace
    resources: tuple[tuple[str, int], ...] = ()


NO_TRAITS = Traits()
