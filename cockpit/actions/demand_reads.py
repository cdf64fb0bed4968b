"""Reads what of ours asks for capacity: for a pool's page, and before it is asked for or withdrawn."""

from collections.abc import Iterator
from typing import cast

from cockpit.actions.address import Lookup
from cockpit.actions.refusals import withheld
from cockpit.kube.decode.demands import demand_of
from cockpit.kube.session import ApiSession
from cockpit.model.pod import POOL_MARK
from cockpit.model.pool import StandingDemand, StandingRead
from cockpit.model.session import Reader
from cockpit.pools.capacity import API_KINDS, BY_NOTE, MADE_BY, NODES_NOTE
from cockpit.pools.registry import machine_makers

MOST = 200
_MARKS = (POOL_MARK, NODES_NOTE, BY_NOTE)


async def read_standing(session: Reader, lookup: Lookup, mark: str = "") -> StandingRead:
    """Of the pool with that mark, or of all; what may not be listed is said. Raises NoConnection."""
    found: list[StandingDemand] = []
    denied: list[str] = []
    trouble = ""
    chosen = f"{MADE_BY}=gpu-cockpit,{POOL_MARK}" + (f"={mark}" if mark else "")
    lister = cast("ApiSession", session)  # who lists has a query, which the protocol has not
    query = (("labelSelector", chosen), ("limit", str(MOST)))
    for kind, collection in _collections(lookup):
        answer = await lister.request("GET", collection, query=query)
        if answer.status in (401, 403):
            denied.append(collection.rpartition("/")[2])
            trouble = withheld(answer.status, f"list {', '.join(denied)}")
            continue
        tree = answer.json() if answer.status == 200 else None
        items = tree.get("items") if isinstance(tree, dict) else None
        for one in items if isinstance(items, list) else ():
            known = demand_of(one, kind, collection, _MARKS) if isinstance(one, dict) else None
            if known is not None:
                found.append(known)
    return StandingRead(
        found=tuple(sorted(found, key=lambda one: (one.is_part, one.path))),
        trouble=trouble,
    )


def _collections(lookup: Lookup) -> Iterator[tuple[str, str]]:
    """Kind and path, of all namespaces, of what may ask; only what the cluster serves."""
    has_template = False
    for api_version, kind, plural in API_KINDS.values():
        if kind == "Job":
            yield kind, f"/apis/{api_version}/{plural}"
        elif lookup(api_version, kind) is not None:
            has_template = True
            yield kind, f"/apis/{api_version}/{plural}"
    if has_template:
        yield "PodTemplate", "/api/v1/podtemplates"
    for made in (one.machine_kind for one in machine_makers()):
        found = lookup(f"{made.group}/{made.versions[0]}", made.api_kind)
        if found is not None:
            yield made.api_kind, found.path()
