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
        names = {(card.node, card.uuid.replace(f"@{card.node}", "")): card.uuid for card in cards if details}
        new: dict[str, GpuDetail] = {}
        for item in details:
            uuid = names.get((item.node, item.uuid), item.uuid)
            new[uuid] = item if uuid == item.uuid else msgspec.structs.replace(item, uuid=uuid)
        changed = tuple(one for uuid, one in new.items() if self._details.get(uuid) != one)
        removed = tuple(uuid for uuid in self._details if uuid not in new)
        self._details = new
        if changed or removed:
            self._sink(Batch(kind=Kind.GPU_DETAIL, changed=changed, removed=removed))
        self._tell_uses(uses)

    def _tell_uses(self, uses: Sequence[PodUse]) -> None:
        new = {item.uid: item for item in uses}
        changed = tuple(one for uid, one in new.items() if self._uses.get(uid) != one)
        removed = tuple(uid for uid in self._uses if uid not in new)
        self._uses = new
        if changed or removed:
            self._sink(Batch(kind=Kind.POD_USE, changed=changed, removed=removed))
