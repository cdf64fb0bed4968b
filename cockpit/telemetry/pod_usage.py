"""What is told beside the cards, of what is in sight: second records of cards, CPU and network of pods."""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from cockpit.model.batch import Batch
from cockpit.model.gpu import Gpu
from cockpit.model.gpu_detail import GpuDetail
from cockpit.model.pod_use import PodUse
from cockpit.model.record import Kind


class Beside:
    """Hands on what changed since the last round; what a round does not tell of goes."""

    def __init__(self, sink: Callable[[Batch], None]) -> None:
        self._sink = sink
        self._details: dict[str, GpuDetail] = {}
        self._uses: dict[str, PodUse] = {}

    def tell(self, details: Sequence[GpuDetail], uses: Sequence[PodUse], cards: Iterable[Gpu]) -> None:
        """Second records of the nodes whose page is open, and use of the pods on screen; `cards` are all
        cards, by which clones of one UUID are told apart."""
        names = {(one.node, one.uuid.replace(f"@{one.node}", "")): one.uuid for one in cards if details}
        new: dict[str, GpuDetail] = {}
        for one in details:
            uuid = names.get((one.node, one.uuid), one.uuid)
            new[uuid] = one if uuid == one.uuid else msgspec.structs.replace(one, uuid=uuid)
        changed = tuple(one for uuid, one in new.items() if self._details.get(uuid) != one)
        removed = tuple(uuid for uuid in self._details if uuid not in new)
        self._details = new
        if changed or removed:
            self._sink(Batch(kind=Kind.GPU_DETAIL, changed=changed, removed=removed))
        self._tell_uses(uses)

    def _tell_uses(self, uses: Sequence[PodUse]) -> None:
        new = {one.uid: one for one in uses}
        changed = tuple(one for uid, one in new.items() if self._uses.get(uid) != one)
        removed = tuple(uid for uid in self._uses if uid not in new)
        self._uses = new
        if changed or removed:
            self._sink(Batch(kind=Kind.POD_USE, changed=changed, removed=removed))
