"""How GPU numbers moved lately: in full for aggregates and for what is on screen, not at all for the rest.

20,000 cards times five quantities for an hour would be 96 MB; this is `KEYS` series of `SAMPLES` samples of
16 bytes at the most, 1.2 MB. Longer ranges are Prometheus' job.
"""

from collections.abc import Collection, Iterable, Mapping

from cockpit.model.gpu import Gpu, Mark
from cockpit.model.node import Node
from cockpit.model.quantity import Absent
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.store.series import SeriesShelf

KEYS = 1_200
STEP_SECONDS = 30.0
"""Width of one point of a line: within it only the newest cell of the drawing changes."""
SAMPLES = 60
"""Half an hour of steps."""

MOST_CARDS = 800
"""Cards of nodes on screen that are followed one by one; aggregates of pools need the rest of the keys."""

FLEET = "fleet"


class _Sum:
    """Duty of allocated cards and power of cards, as they add up."""

    __slots__ = ("allocated", "cards", "duty", "watts", "watts_known")

    def __init__(self) -> None:
        self.cards: set[str] = set()
        self.duty, self.allocated = 0.0, 0
        self.watts, self.watts_known = 0.0, False

    def add(self, card: Gpu) -> None:
        if card.pod_name and card.mark is not Mark.UNALLOCATED and not isinstance(card.duty_ratio, Absent):
            self.duty += card.duty_ratio
            self.allocated += 1
        if isinstance(card.power_watts, Absent):
            return
        if card.mig_profile:  # instances repeat the draw of their card
            whole = f"{card.node}/{card.uuid.rsplit('/', 1)[0]}"
            if whole in self.cards:
                return
            self.cards.add(whole)
        self.watts += card.power_watts
        self.watts_known = True


class Trends:
    """Series by what they are about; `note` adds a sample after every round."""

    def __init__(self, keys: int = KEYS, samples: int = SAMPLES) -> None:
        self._shelf = SeriesShelf(keys, samples, STEP_SECONDS)
        self._past: Mapping[str, tuple[float | None, ...]] = {}

    def remember(self, lines: Mapping[str, tuple[float | None, ...]]) -> None:
        """The last hour as a Prometheus remembers it, by `gpu/UUID`, `job/KEY`, `pool/NAME/duty` or
        `fleet/duty`, of what is in sight now: what was kept of other things goes."""
        self._past = lines

    def note(self, store: StoreReader, seconds: float, nodes: Collection[str] = ()) -> None:
        """Samples of this round, taken at `seconds`; cards one by one only on `nodes`."""
        pools = {node.name: node.pool for node in _nodes(store)}
        whole = _Sum()
        sums: dict[str, _Sum] = {FLEET: whole}
        by_pool = {pool: sums.setdefault(f"pool/{pool}", _Sum()) for pool in set(pools.values()) if pool}
        for card in store.records(Kind.GPU).values():
            whole.add(card)
            of_pool = by_pool.get(pools.get(card.node, ""))
            if of_pool is not None:
                of_pool.add(card)
        for name, found in sums.items():
            self._shelf.add(
                f"{name}/duty", seconds, found.duty / found.allocated if found.allocated else None
            )
            self._shelf.add(f"{name}/watts", seconds, found.watts if found.watts_known else None)
        followed = [card for node in nodes for card in store.gpus_on(node)][:MOST_CARDS]
        for card in followed:
            duty = card.duty_ratio
            at = card.sampled_seconds if card.sampled_seconds is not None else seconds
            self._shelf.add(f"gpu/{card.uuid}", at, None if isinstance(duty, Absent) else duty)

    def fleet(self, what: str = "duty") -> tuple[float | None, ...]:
        """Of all cards, the oldest first: `duty` of those allocated (0..1), or `watts`."""
        return self._with_past(f"{FLEET}/{what}")

    def pool(self, name: str, what: str = "duty") -> tuple[float | None, ...]:
        """Of a pool's cards; over the last hour where its page is open and a Prometheus remembers it."""
        return self._with_past(f"pool/{name}/{what}")

    def card(self, uuid: str) -> tuple[float | None, ...]:
        """Duty of one card: over the last hour where a Prometheus remembers it, else while its node was on
        screen."""
        return self._with_past(f"gpu/{uuid}")

    def job(self, key: str) -> tuple[float | None, ...]:
        """Mean duty of a job's cards over the last hour, () without history."""
        return self._with_past(f"job/{key}")

    def _with_past(self, key: str) -> tuple[float | None, ...]:
        """What was, and at its end the newest sample."""
        seen, past = self._of(key), self._past.get(key, ())
        return (*past, *seen[-1:]) if past else seen

    def _of(self, key: str) -> tuple[float | None, ...]:
        return self._shelf.series(key).values() if key in self._shelf else ()

    def __len__(self) -> int:
        return len(self._shelf)


def _nodes(store: StoreReader) -> Iterable[Node]:
    found: Iterable[Node] = store.records(Kind.NODE).values()
    return found
