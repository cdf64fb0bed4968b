"""What is known of devices by claim (DRA), in words: the kinds may be denied, or not be read yet."""

from cockpit.model.batch import Phase
from cockpit.model.listing import listing
from cockpit.model.node import Node
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader

_UNREAD = "ResourceClaims of its pods are not known"


def may_have_gpus(node: Node, store: StoreReader) -> bool:
    """True where pods of a node have devices by claim, and what the node offers to claims is unknown."""
    if listing(store, Kind.DEVICE_SLICE).has_all:
        return False
    return any(pod.traits.device_claims for pod in store.pods_on(node.name))


def claims_trouble(store: StoreReader) -> str:
    """Why GPUs by claim are not known, in one sentence."""
    for kind in (Kind.DEVICE_CLAIM, Kind.DEVICE_SLICE):
        status = store.status(kind)
        is_unread = (Phase.DENIED, Phase.NOT_LOGGED_IN, Phase.BACKING_OFF)
        if status is not None and status.phase in is_unread and status.message:
            return status.message
    return _UNREAD
