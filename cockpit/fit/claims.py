"""Claims and the nodes that were chosen: told in words where a claim's volume can never be had.

The fit says so too, node by node; this says it as one sentence, before anything else of the form is right.
"""

from collections.abc import Iterator, Sequence

from cockpit.fit.matching import holds, meets
from cockpit.fit.scene import Scene
from cockpit.fit.shape import Part, Shape
from cockpit.fit.surroundings import ZONE_LABELS, Claim, Surroundings, Volume
from cockpit.fit.volumes import has_volume
from cockpit.model.node import Node
from cockpit.store.store import Store

_MOST_NODES = 3


def claim_conflicts(store: Store, parts: Sequence[Part], around: Surroundings) -> tuple[str, ...]:
    """A sentence for each claim that none of the chosen nodes reaches, and for two that lie apart.

    () where claims or volumes were not or may not be read.
    """
    if around.claims is None or around.volumes is None:
        return ()
    scene = Scene(store, around)
    found = (line for one in parts if one.shape.claims for line in _conflicts(scene, one.shape, around))
    return tuple(dict.fromkeys(found))


def _conflicts(scene: Scene, shape: Shape, around: Surroundings) -> Iterator[str]:
    claims, volumes = around.claims or {}, around.volumes or {}
    chosen = [node for node in scene.nodes.values() if _is_chosen(scene, shape, node)]
    if not chosen:
        return  # the fit says that no node is like that
    bound = [
        (claim, volumes[claim.volume])
        for name in dict.fromkeys(shape.claims)
        if (claim := claims.get(name)) is not None and claim.is_bound and claim.volume in volumes
    ]
    reached: list[tuple[Claim, Volume, set[str]]] = []
    for claim, volume in bound:
        names = {node.name for node in chosen if has_volume(volume, node, scene.labels(node.name))}
        if not names:
            pinned = "the chosen" if len(chosen) < len(scene.nodes) else "all"
            yield (
                f"claim {claim.name} lies in {where(volume)}, {pinned} nodes ({_names(chosen)}) lie in"
                f" {_zones(scene, chosen)}: its pods could never start there"
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


def _is_chosen(scene: Scene, shape: Shape, node: Node) -> bool:
    """Whether selectors and pins choose the node, whatever else keeps pods off it."""
    labels = scene.labels(node.name)
    if shape.node_name and shape.node_name != node.name:
        return False
    hostname = {"kubernetes.io/hostname": node.name, **labels}
    if any(hostname.get(key) != value for key, value in shape.node_selector):
        return False
    return shape.node_terms is None or any(meets(one, node.name, hostname) for one in shape.node_terms)


def where(volume: Volume) -> str:
    """The zone of a volume in words, else the labels or node that it is bound to."""
    zones = [value.replace("__", " or ") for _, value in volume.zones]
    if zones:
        return " and ".join(dict.fromkeys(zones))
    told: list[str] = []
    for term in volume.node_terms or ():
        for one in (*term.expressions, *term.fields):
            if one.operator == "In":
                told.extend(one.values)
            elif holds(one, {}):
                continue
            else:
                told.append(f"{one.key} {one.operator} {','.join(one.values)}".strip())
    return " or ".join(dict.fromkeys(told)) or "another place"


def _zones(scene: Scene, nodes: Sequence[Node]) -> str:
    zones = sorted({_zone(scene, node) for node in nodes} - {""})
    return " and ".join(zones[:_MOST_NODES]) + (" ..." if len(zones) > _MOST_NODES else "") or "no zone"


def _zone(scene: Scene, node: Node) -> str:
    labels = scene.labels(node.name)
    return next((labels[key] for key in (ZONE_LABELS[2], ZONE_LABELS[0]) if key in labels), node.zone)


def _names(nodes: Sequence[Node]) -> str:
    names = sorted(node.name for node in nodes)
    more = len(names) - _MOST_NODES
    return ", ".join(names[:_MOST_NODES]) + (f" and {more} more" if more > 0 else "")
