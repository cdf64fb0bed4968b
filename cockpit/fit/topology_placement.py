"""A gang that has to stand inside one domain: a rack, a block, a node (topology-aware scheduling).

Each domain is tried as if the gang were pinned to it; the first that holds everything is the answer, else the
one that misses least. Domains are tried by their free GPUs, most first, and no more than `MOST_DOMAINS`.
"""

from collections.abc import Sequence
from typing import NamedTuple

from cockpit.fit.demand import directed
from cockpit.fit.gang import FitAnswer, fit
from cockpit.fit.scheduling_context import UNKNOWN, Surroundings
from cockpit.fit.shape import Part
from cockpit.fit.snapshot import ClusterSnapshot
from cockpit.k8s import labels as well_known
from cockpit.model.store_reader import StoreReader

HOSTNAME = well_known.HOSTNAME
MOST_DOMAINS = 16


class TogetherAnswer(NamedTuple):
    """The fit in the best domain; `domains` counts all that the nodes' labels tell. None: there is none."""

    answer: FitAnswer | None
    domain: str
    domains: int
    tried: int


def fit_together(
    store: StoreReader,
    parts: Sequence[Part],
    key: str,
    *,
    queue: str = "",
    surroundings: Surroundings = UNKNOWN,
    bound_parts: Sequence[int] = (),
) -> TogetherAnswer:
    """Place the parts with the indexes `bound_parts` in one domain of the label `key`, the rest anywhere."""
    resource = next((parts[at].shape.gpu_resource for at in bound_parts if parts[at].shape.gpus), "")
    domains = _by_free(store, key, resource)
    best: TogetherAnswer | None = None
    for tried, domain in enumerate(domains[:MOST_DOMAINS], start=1):
        pinned = [
            directed(one, {key: domain}, ()) if at in bound_parts else one for at, one in enumerate(parts)
        ]
        answer = fit(store, pinned, queue=queue, surroundings=surroundings)
        if best is None or best.answer is None or answer.missing < best.answer.missing:
            best = TogetherAnswer(answer, domain, len(domains), tried)
        if answer.missing == 0:
            break
    return best or TogetherAnswer(None, "", 0, 0)


def _by_free(store: StoreReader, key: str, resource: str) -> list[str]:
    """Values of the label, those with most free GPUs first."""
    snapshot = ClusterSnapshot(store)
    free: dict[str, int] = {}
    for node in snapshot.nodes.values():
        labels = snapshot.labels(node.name)
        domain = labels.get(key, node.name if key == HOSTNAME else "")
        if domain:
            left = max(0, snapshot.free(node, (resource,))[0]) if resource else 1
            free[domain] = free.get(domain, 0) + left
    return sorted(free, key=lambda name: (-free[name], name))
