"""What the placement of one pod depends on in others: selectors, terms, ports, and a pod's own marks."""

from typing import NamedTuple

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


class NodeTerm(msgspec.Struct, frozen=True, gc=False):
    """One term of node affinity: all expressions and fields hold; an empty term holds nowhere."""

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()  # only metadata.name exists


class Toleration(msgspec.Struct, frozen=True, gc=False):
    """An empty key tolerates every key, an empty effect every effect."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class SpreadKey(NamedTuple):
    """A hard topology spread constraint (DoNotSchedule), as far as its name goes."""

    key: str
    max_skew: int


class PodWishes(msgspec.Struct, frozen=True, gc=False):
    """What a pod asks of its node and of its namespace; one object for all pods that ask for the same."""

    node_selector: Labels = ()
    node_terms: tuple[NodeTerm, ...] | None = None  # any of them; None where nothing is required
    tolerations: tuple[Toleration, ...] = ()
    near: tuple[PodTerm, ...] = ()  # required affinity
    spreads: tuple[SpreadKey, ...] = ()
    gates: tuple[str, ...] = ()  # names of scheduling gates
    config_maps: tuple[str, ...] = ()  # mounted ones that have to exist
    keeps_files: bool = False  # on the node, in an emptyDir or hostPath
    device_claims: tuple[str, ...] = ()  # names of the ResourceClaims that have to exist
    claim_templates: tuple[str, ...] = ()  # names of ResourceClaimTemplates
    init_containers: tuple[str, ...] = ()  # names of those that have to end first
    preempts: bool = True


NO_WISHES = PodWishes()


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
    device_claims: tuple[str, ...] = ()  # what the pod calls its ResourceClaims
    wishes: PodWishes = NO_WISHES


NO_TRAITS = Traits()
