"""Which objects own one, up to the top, and what the top owns: read on demand."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from cockpit.errors import CockpitError
from cockpit.kube.discovery import Served
from cockpit.kube.object_details import owners_of
from cockpit.kube.objects import get_object, list_trees
from cockpit.model.object_table import ObjectAddress, OwnedObject
from cockpit.model.pod import Pod
from cockpit.model.record import Kind, OwnerRef
from cockpit.model.store_reader import StoreReader

if TYPE_CHECKING:
    from cockpit.kube.session import ApiSession

DEEPEST: Final = 8
_MIDDLE: Final = (
    ("batch", "Job"),
    ("apps", "ReplicaSet"),
    ("apps", "StatefulSet"),
    ("kubeflow.org", "MPIJob"),
)
"""Group and kind of controllers that stand between an object and its pods: listed in its namespace."""

Children = Mapping[str, list[tuple[ObjectAddress, str, str]]]
"""Owner's uid -> address, uid and state of each object that it owns."""


async def read_owner_tree(
    session: "ApiSession", served: Served, store: StoreReader, address: ObjectAddress
) -> OwnedObject:
    """The tree from the topmost owner down. Raises CockpitError where the object itself cannot be read."""
    meta, error = await _metadata(session, served, address), ""
    uid = str(meta.get("uid") or "")
    for _ in range(DEEPEST):
        owners = owners_of(meta)
        if not owners:
            break
        above = _address(owners[0], address.namespace)
        try:
            meta = await _metadata(session, served, above)
        except CockpitError as failure:
            address, uid, error = above, owners[0].uid, failure.sentence
            break
        address, uid = above, owners[0].uid
    children = await _children(session, served, store, address.namespace) if address.namespace else {}
    return _tree(OwnedObject(address, error=error), uid, children, frozenset({uid}))


def _address(owner: OwnerRef, namespace: str) -> ObjectAddress:
    return ObjectAddress(owner.api_version, owner.kind, "" if owner.kind == "Node" else namespace, owner.name)


async def _metadata(session: "ApiSession", served: Served, address: ObjectAddress) -> Mapping[str, Any]:
    tree = await get_object(session, served.resource(address.api_version, address.kind), *address[2:])
    return cast("Mapping[str, Any]", tree.get("metadata") or {})


async def _children(session: "ApiSession", served: Served, store: StoreReader, namespace: str) -> Children:
    """Everything in the namespace whose owner is known: pods of the store, controllers as they are now."""
    found: defaultdict[str, list[tuple[ObjectAddress, str, str]]] = defaultdict(list)
    for group, kind in _MIDDLE:
        resource = served.find(group, kind)
        trees = None if resource is None else await list_trees(session, resource, namespace, is_metadata=True)
        for tree in trees or ():
            meta = tree["metadata"]
            if resource is not None and (owners := owners_of(meta)):
                place = ObjectAddress(resource.api_version, kind, namespace, str(meta.get("name") or ""))
                found[owners[0].uid].append((place, str(meta.get("uid") or ""), ""))
    for pod in cast("Iterable[Pod]", store.records(Kind.POD).values()):
        if pod.namespace == namespace and pod.owner_uid:
            place = ObjectAddress("v1", "Pod", namespace, pod.name)
            found[pod.owner_uid].append((place, pod.uid, pod.phase.lower()))
    return found


def _tree(top: OwnedObject, uid: str, children: Children, above: frozenset[str]) -> OwnedObject:
    """`above` are uids that stand above it, and its own: a cycle ends."""
    below = [item for item in children.get(uid, ()) if item[1] not in above]
    parts = (
        _tree(OwnedObject(address, state), its, children, above | {its}) for address, its, state in below
    )
    return msgspec.structs.replace(top, children=tuple(parts))
