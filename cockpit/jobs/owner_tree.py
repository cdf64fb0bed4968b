"""Which objects own which, as far as the store knows: what is below a job, what stands above an object."""

from collections.abc import Iterable

from cockpit.jobs.owner_chain import Root, is_part, owner_record, pod_owner
from cockpit.model.job import JobObject, OwnerObject
from cockpit.model.pod import Pod
from cockpit.model.record import Kind, OwnerRef
from cockpit.model.store_reader import StoreReader
from cockpit.store.multimap import Multimap


class OwnerTree:
    """Controllers, and pods that own others, by uid. What is a job of its own is no part of what started it.

    It is told of every object that comes or goes; pods are found in the store.
    """

    def __init__(self, store: StoreReader) -> None:
        self._store = store
        self._parts = Multimap()  # uid of an owner -> uids of owners that are parts of its job
        self._jobs = Multimap()  # uid of an owner -> uids of the jobs that it started
        self._owner_of: dict[str, str] = {}
        self.owning_pods: set[str] = set()  # uids of pods that own something, there or not

    def link(self, uid: str, kind: str, owner: OwnerRef | None) -> bool:
        """Note the owner of an object; True where it was another, or none was known."""
        owner_uid = "" if owner is None else owner.uid
        if self._owner_of.get(uid, "") == owner_uid:
            return False
        self.unlink(uid)
        if owner is not None and owner_uid:
            self._owner_of[uid] = owner_uid
            (self._parts if is_part(kind, owner.kind) else self._jobs).add(owner_uid, uid)
        return True

    def link_pod(self, uid: str) -> bool:
        """The same of a pod that owns something, by what the store has of it."""
        self.owning_pods.add(uid)
        pod: Pod | None = self._store.get(Kind.POD, uid)
        return self.link(uid, "Pod", None if pod is None else pod_owner(pod))

    def unlink(self, uid: str) -> None:
        """The object is gone; what it owns may still be there."""
        owner = self._owner_of.pop(uid, "")
        self._parts.discard(owner, uid)
        self._jobs.discard(owner, uid)

    def owner_of(self, uid: str) -> str:
        """Uid of its owner, "" where none is known."""
        return self._owner_of.get(uid, "")

    def above(self, uid: str) -> Iterable[str]:
        """Uids of its owner, of that one's owner and so on; a cycle ends."""
        seen = {uid}
        while (uid := self._owner_of.get(uid, "")) and uid not in seen:
            seen.add(uid)
            yield uid

    def below(self, uid: str) -> Iterable[str]:
        """Uids of all owners that are parts of it; a cycle ends."""
        seen = {uid}
        todo = [uid]
        while todo:
            for part in self._parts.get(todo.pop()):
                if part not in seen:
                    seen.add(part)
                    todo.append(part)
                    yield part

    def has_started(self, uid: str) -> bool:
        """True where a job of its own is there that it started."""
        return bool(self._jobs.get(uid))

    def objects_below(self, uid: str) -> list[JobObject]:
        """Job objects that are parts of it, at any depth."""
        found = (owner_record(self._store, part) for part in self.below(uid))
        return [record for record in found if isinstance(record, JobObject)]

    def asking_below(self, uid: str) -> list[JobObject]:
        """The topmost job objects below it that ask for GPUs: what these are made of is not counted again."""
        found: list[JobObject] = []
        seen = {uid}
        todo = [uid]
        while todo:
            for part in self._parts.get(todo.pop()):
                if part in seen:
                    continue
                seen.add(part)
                record: JobObject | OwnerObject | None = owner_record(self._store, part)
                if isinstance(record, JobObject) and record.asks_for_gpus:
                    found.append(record)
                else:
                    todo.append(part)
        return found

    def pods_below(self, root: Root) -> list[Pod]:
        """Every pod of the job, attempts that were superseded too, in the order of coming."""
        store = self._store
        pods = store.pods_under(root.uid)
        if root.kind == "Pod":
            own: Pod | None = store.get(Kind.POD, root.uid)
            pods = pods if own is None else [own, *pods]
        for part in self.below(root.uid):
            pods += store.pods_under(part)
        return pods
