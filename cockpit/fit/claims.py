"""Claims and the nodes that were chosen: told in words where a claim's volume can never be had.

The fit says so too, node by node; this says it as one sentence, before anything else of the form is right.
"""

from collections.abc import Iterator, Sequence

from cockpit.fit.scheduling_context import ZONE_LABELS, Claim, Surroundings, Volume
from cockpit.fit.shape import Part, Shape
from cockpit.fit.snapshot import ClusterSnapshot
from cockpit.fit.volumes import has_volume
from cockpit.k8s.labels import HOSTNAME
from cockpit.k8s.node_affinity import NodeTerms, is_chosen
from cockpit.k8s.selectors import holds
from cockpit.model.node import Node
from cockpit.model.store_reader import StoreReader

_MOST_NODES = 3


def claim_conflicts(store: StoreReader, parts: Sequence[Part], around: Surroundings) -> tuple[str, ...]:
    """A sentence for each claim that none of the chosen nodes reaches, and for two that lie apart.

    () where claims or volumes were not or may not be read.
    """
    if around.claims is None or around.volumes is None:
        return ()
    snapshot = ClusterSnapshot(store, around)
    found = (line for part in parts if part.shape.claims for line in _conflicts(snapshot, part.shape, around))
    return tuple(dict.fromkeys(found))


def _conflicts(snapshot: ClusterSnapshot, shape: Shape, around: Surroundings) -> Iterator[str]:
    claims, volumes = around.claims or {}, around.volumes or {}
    chosen = [node for node in snapshot.nodes.values() if _is_chosen(snapshot, shape, node)]
    if not chosen:
        return  # the fit says that no node is like that
    bound = [
        (claim, volumes[claim.volume])
        for name in dict.fromkeys(shape.claims)
        if (claim := claims.get(name)) is not None and claim.is_bound and claim.volume in volumes
    ]
    reached: list[tuple[Claim, Volume, set[str]]] = []
    for claim, volume in bound:
        names = {node.name for node in chosen if has_volume(volume, node, snapshot.labels(node.name))}
        if not names:
            pinned = "the chosen" if len(chosen) < len(snapshot.nodes) else "all"
            yield (
                f"claim {claim.name} lies in {where(volume)}, {pinned} nodes ({_names(chosen)}) lie in"
                f" {_zones(snapshot, chosen)}: its pods could never start there"
            )
        else:
            reached.append((claim, volume, names))
    for at, (claim, volume, names) in enumerate(reached):
        for other, its_volume, its_names in reached[at + 1 :]:
            if not names & its_names:
                yield (
                    f"claim {claim.name} lies in {where(volume)} and claim {other.name} in"
                    f" {where(its_volume)}: no node reaches both"
                )


def _is_chosen(snapshot: ClusterSnapshot, shape: Shape, node: Node) -> bool:
    """Whether selectors and pins choose the node; other filters are not considered."""
    labels = snapshot.labels(node.name)
    if shape.node_name and shape.node_name != node.name:
        return False
    terms = None if shape.node_terms is None else NodeTerms(shape.node_terms)
    return is_chosen(shape.node_selector, terms, node.name, {HOSTNAME: node.name, **labels})


def where(volume: Volume) -> str:
    """The zone of a volume in words, else the labels or node that it is bound to."""
    zones = [value.replace("__", " or ") for _, value in volume.zones]
    if zones:
        return " and ".join(dict.fromkeys(zones))
    told: list[str] = []
    for term in volume.node_terms or ():
        for item in (*term.expressions, *term.fields):
            if item.operator == "In":
                told.extend(item.values)
            elif holds(item, {}):
                continue
            else:
                told.append(f"{item.key} {item.operator} {','.join(item.values)}".strip())
    return " or ".join(dict.fromkeys(told)) or "another place"


def _zones(snapshot: ClusterSnapshot, nodes: Sequence[Node]) -> str:
    zones = sorted({_zone(snapshot, node) for node in nodes} - {""})
    return " and ".join(zones[:_MOST_NODES]) + (" ..." if len(zones) > _MOST_NODES else "") or "no zone"


def _zone(snapshot: ClusterSnapshot, node: Node) -> str:
    labels = snapshot.labels(node.name)
    return next((labels[key] for key in (ZONE_LABELS[2], ZONE_LABELS[0]) if key in labels), node.zone)


def _names(nodes: Sequence[Node]) -> str:
    names = sorted(node.name for node in nodes)
    more = len(names) - _MOST_NODES
    return ", ".join(names[:_MOST_NODES]) + (f" and {more} more" if more > 0 else "")
