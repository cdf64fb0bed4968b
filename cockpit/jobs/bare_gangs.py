"""Bare pods that name a group, of any engine: several of them are one job."""

from collections.abc import Iterable

from cockpit.jobs.owner_chain import Root
from cockpit.model.job import GANG
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.store.multimap import Multimap


def gang_root(gang: str) -> Root:
    """What the row of a group, "namespace/name", stands for: no object, so its uid is no uid of one."""
    namespace, _, name = gang.partition("/")
    return Root("", GANG, namespace, name, f"gang/{gang}")


def missing_of(gang: str, pods: Iterable[Pod], store: StoreReader) -> int:
    """How many bare pods the group is to have besides those that are among the pods: by its object, or as its
    pods say."""
    bare = [pod for pod in pods if not pod.owner_uid]
    said = [pod.gang_size for pod in bare]
    wanted = max([*said, *(item.min_member or 0 for item in store.pod_groups_named(gang))], default=0)
    return max(0, wanted - len(bare))


class BareGangs:
    """Bare pods by the group that they name, "namespace/name"; a group of one is a pod of its own."""

    def __init__(self, store: StoreReader) -> None:
        self._store = store
        self._uids = Multimap()
        self._gang_of: dict[str, str] = {}
        self._are_one: set[str] = set()

    def join(self, pod: Pod, name: str) -> str:
        """A pod came that names a group; gives the group."""
        gang = self._gang_of[pod.uid] = f"{pod.namespace}/{name}"
        self._uids.add(gang, pod.uid)
        return gang

    def leave(self, uid: str) -> str:
        """A pod is gone; gives the group that it was in, "" where it was in none."""
        gang = self._gang_of.pop(uid, "")
        self._uids.discard(gang, uid)
        return gang

    def members(self, gang: str) -> list[Pod]:
        """Those that are there, in the order of coming."""
        found = (self._store.get(Kind.POD, uid) for uid in self._uids.get(gang))
        return [pod for pod in found if pod is not None]

    def has_turned(self, gang: str) -> bool:
        """True where the pods became one row, or no longer are, since this was asked last."""
        pods = self.members(gang)
        is_one = bool(pods) and len(pods) + missing_of(gang, pods, self._store) > 1
        if is_one == (gang in self._are_one):
            return False
        (self._are_one.add if is_one else self._are_one.discard)(gang)
        return True

    def is_row(self, root: Root) -> bool:
        """False for a pod that is part of a group, and for a group that is none."""
        if root.kind == GANG:
            return f"{root.namespace}/{root.name}" in self._are_one
        return root.kind != "Pod" or self._gang_of.get(root.uid) not in self._are_one
