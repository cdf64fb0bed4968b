"""The loop that asks a source and hands the cards to the store."""

import asyncio
import random
import sys
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import msgspec

from cockpit.clock import Clock
from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.gpu import Gpu
from cockpit.model.gpu_detail import GpuDetail
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.pod_use import PodUse
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.telemetry import lately
from cockpit.telemetry.attribute import attribute
from cockpit.telemetry.clocks import Skew, clock_sentences, shifted, without_future
from cockpit.telemetry.faults import TelemetryError, Unheard
from cockpit.telemetry.focus import Focus, Looking, RefreshPace, everything
from cockpit.telemetry.history import AGAIN_SECONDS, Line, Past
from cockpit.telemetry.lately import Stretch
from cockpit.telemetry.nap import Wake, from_now, nap
from cockpit.telemetry.source import LAG_SECONDS, MANY_CARDS, TelemetrySource
from cockpit.telemetry.staleness import FORGET_SECONDS, aged, is_forgotten
from cockpit.telemetry.uses import MOST_PODS

SAMPLE_INTERVAL_SECONDS = 30.0
"""dcgm-exporter's own period; with a scrape every 15 s a sample is at most 45 s old when all is well."""

MOST_NODES = 100
"""With more nodes on screen than this the whole fleet is asked for: the URL of a GET has its limits."""

FLEET_SECONDS = 30.0
"""A large fleet is read whole no more often than its exporters sample it; nodes on screen every round."""

SLOW_SECONDS = 60.0
"""How often the fleet is read while only the sums in the header are in sight: before samples go stale."""

IDLE_SECONDS = 1.0
"""Interval at which a change of the focus is noticed without a nudge."""

_REST = 4.0
"""Least ratio of a pause to the round before it, up to the longest pause: a large fleet is asked
less often."""

BESIDES_AGAIN_SECONDS = 60.0
"""Pause before a query other than the cards' that timed out is sent again."""

T = TypeVar("T")

Remember = Callable[[Mapping[str, Line]], None]
"""Takes the lines of the last hour by what they are about (`gpu/UUID`, `job/KEY`), instead of the former."""

_CHUNK = 1_000
_LONGEST_PAUSE_SECONDS = 60.0


class Poller:
    """Asks every `interval_seconds`, doubles the pause while there is no answer, emits `Batch`es of `Gpu`.

    `looking` says what is in sight: nodes on screen are read every round, a large fleet (`many_cards`) only
    every `FLEET_SECONDS`, details of a node only while its page is open, nothing while the user is away.
    Failures
    become the stream's status; cards keep their rows and go stale. `known` are the cards that an earlier
    poller left in the store. `nudge` is set when the focus changes: the pause ends then; that of a
    source in trouble ends with `returned`: the way to it is free again. `after_round` is told the source's
    time at the end of every round, `remember` the lines of the last hour.
    """

    def __init__(
        self,
        source: TelemetrySource,
        sink: Callable[[Batch], None],
        clock: Clock,
        cluster: StoreReader,
        *,
        interval_seconds: float = 5.0,
        sample_interval_seconds: float = SAMPLE_INTERVAL_SECONDS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        rng: random.Random | None = None,
        looking: Looking = everything,
        nudge: asyncio.Event | None = None,
        many_cards: int = MANY_CARDS,
        after_round: Callable[[float], None] | None = None,
        remember: Remember | None = None,
        known: Iterable[Gpu] = (),
        returned: Wake | None = None,
    ) -> None:
        self._source = source
        self._sink = sink
        self._clock = clock
        self._cluster = cluster
        self._interval_seconds = interval_seconds
        self._sample_interval_seconds = max(sample_interval_seconds, interval_seconds)
        self._sleep = sleep
        self._rng = rng or random.Random(0)
        self._looking = looking
        self._nudge = nudge
        self._returned = returned
        self._is_throttled = False
        self._many_cards = many_cards
        self._after_round = after_round
        self._remember = remember
        self._past: tuple[Past, float] | None = None  # what was asked for, and when (monotonic)
        self._whole_at: float | None = None  # monotonic: when the whole fleet was read last
        self._whole_seconds: float | None = None  # the same by the source's time
        self._unheard: dict[str, float] = {}  # what got no answer besides the cards, and when (monotonic)
        self._beside = Beside(sink)
        self._cards: dict[str, Gpu] = {card.uuid: card for card in known}
        self._heard_seconds: float | None = None
        self._nodes_met: set[str] = set()
        self._skew = Skew()
        self._shifted_by = 0.0  # how much of it is in the sample times that the store has
        self._throttled_until: float | None = None  # monotonic
        self._answered_at: tuple[float, float] | None = None  # Prometheus' time, our monotonic time
        self.failures = 0
        self.empty_rounds = 0

    @property
    def cards(self) -> tuple[Gpu, ...]:
        """What stands in the store now, silent cards too."""
        return tuple(self._cards.values())

    async def run(self, most_failures: int = sys.maxsize, most_empty: int = sys.maxsize) -> None:
        """Poll until cancelled, or until `most_failures` polls in a row had no answer, or `most_empty` of the
        whole fleet in a row had one without a card."""
        while self.failures < most_failures and self.empty_rounds < most_empty:
            if self._is_due():
                with from_now(self._returned) as returned:
                    await self._pause(await self.poll(), returned)
            else:
                await self._sleep(IDLE_SECONDS)

    async def _pause(self, seconds: float, returned: Wake | None) -> None:
        """Wait, or until the focus changes; for a source in trouble until it can be reached again,
        also where it was freed while the round went on, but never before it may be asked."""
        if self.failures:
            wake = None if self._is_throttled else returned
        elif self._nudge is not None and self._nudge.is_set():
            return  # the focus changed during the round
        else:
            wake = None if self._nudge is None else self._nudge.wait
        await nap(seconds, wake, self._sleep)

    def _is_due(self) -> bool:
        """False while the user is away, and between the slow rounds while only the header is in sight."""
        look = self._looking()
        if look.pace is RefreshPace.NONE:
            return False
        if self._whole_at is None or self._unheard_since(self._whole_at):
            return True
        since = self._clock.monotonic() - self._whole_at
        if look.pace is RefreshPace.SLOW:
            return since >= SLOW_SECONDS
        is_whole = not 0 < len(look.nodes) <= MOST_NODES
        return not is_whole or len(self._cards) < self._many_cards or since >= FLEET_SECONDS

    async def poll(self) -> float:
        """One round. Returns how many seconds to wait before the next."""
        began = self._clock.monotonic()
        if self._nudge is not None:
            self._nudge.clear()
        look = self._looking()
        nodes = self._asked_nodes(look, began)
        try:
            cards, now_seconds = await self._ask(nodes)
            fresh = await self._source.details(self._cluster, look.details) if look.details else []
        except TelemetryError as error:
            return self._fail(error)
        uses: list[PodUse] = []
        if look.pods:
            uses = await self._besides("uses", lambda: self._source.uses(self._pods(look)), uses)
        self.failures = 0
        if cards:
            self.empty_rounds = 0
        elif not nodes:
            self.empty_rounds += 1
        is_first = self._whole_at is None
        if not nodes:
            self._whole_at, self._whole_seconds = began, now_seconds
        before_seconds = self._answered_at[0] if self._answered_at else None
        self._answered_at = (now_seconds, self._clock.monotonic())
        stay, gone = await self._reconciled(cards, nodes, now_seconds, before_seconds)
        if is_first and len(stay) < self._many_cards and not self._unheard_since(began):
            await self._replay(stay, now_seconds)
        await self._emit(stay, gone, len(cards))
        self._beside.tell(fresh, uses, self._cards.values())
        if self._after_round is not None:
            self._after_round(now_seconds - self._skew.seconds)
        if not self._unheard_since(began):
            await self._recall(look, now_seconds)
        if self._unheard_since(began):
            # whether it is heard at all is asked at once, but not before it may be asked
            until = self._throttled_until or 0.0
            return max(self._interval_seconds, until - self._clock.monotonic())
        rest = min(_LONGEST_PAUSE_SECONDS, _REST * (self._clock.monotonic() - began))
        return max(self._interval_seconds, rest)

    async def _reconciled(
        self, cards: list[Gpu], nodes: Sequence[str], now_seconds: float, before_seconds: float | None
    ) -> tuple[list[Gpu], list[str]]:
        """The cards to show after a round, also those that were silent or not asked for; uuids to drop.
        `before_seconds` is when the round before was answered."""
        spoken = self._source.asked
        asked_for = {
            uuid: one
            for uuid, one in self._cards.items()
            if (one.node in spoken if spoken is not None else not nodes or one.node in nodes)
        }
        pace = self._clock.cluster_pace()
        # nothing is newer than our own round, however fast the cluster's time passes
        between_seconds = max(self._sample_interval_seconds, self._interval_seconds * pace)
        shown, gone = aged(cards, asked_for, now_seconds, between_seconds, before_seconds=before_seconds)
        # silent cards too: a pod on one of them is not looked for on the others, and may have ended
        shown = await self._attributed(shown)
        # cards that were not asked for keep their numbers for as long as their samples allow
        others = [one for uuid, one in self._cards.items() if uuid not in asked_for]
        old = {item.uuid for item in others if is_forgotten(item, now_seconds, FORGET_SECONDS * pace)}
        gone += sorted(old)
        others = [item for item in others if item.uuid not in old]
        patience_seconds = self._sample_interval_seconds * pace
        kept, _ = aged(others, {}, now_seconds, patience_seconds, seen_seconds=self._whole_seconds)
        left = self._left([*shown, *kept], frozenset(card.uuid for card in cards))
        stay = [*shown, *kept]
        if left:
            stay = [card for card in stay if card.uuid not in left]
        return stay, [*gone, *left]

    # ---- asking

    def _unheard_since(self, at_monotonic: float) -> bool:
        return any(at >= at_monotonic for at in self._unheard.values())

    def _is_resting(self, what: str) -> bool:
        at = self._unheard.get(what)
        return at is not None and self._clock.monotonic() - at < BESIDES_AGAIN_SECONDS

    async def _besides(self, what: str, ask: Callable[[], Coroutine[Any, Any, T]], nothing: T) -> T:
        """What is shown beside the cards, `nothing` where no answer comes in time. A source that hangs would
        cost a round its patience once for each such question, and be told as live meanwhile: so the first of
        them ends the round, and the cards tell whether anything is heard."""
        if self._is_resting(what):
            return nothing
        try:
            return await ask()
        except Unheard as error:
            self._unheard[what] = self._clock.monotonic()
            self._throttled_until = self._clock.monotonic() + error.wait_seconds
            return nothing

    async def _ask(self, nodes: Sequence[str]) -> tuple[list[Gpu], float]:
        """Cards as the exporters see them, and the source's own time."""
        asked_seconds = self._clock.cluster_now()
        cards, now = await self._source.read(self._cluster, nodes, len(self._cards))
        if now is None:
            return cards, self._clock.cluster_now()
        self._skew.hear(
            now + LAG_SECONDS, asked_seconds, self._clock.cluster_now(), self._clock.cluster_pace()
        )
        return without_future(cards, now), now

    def _asked_nodes(self, look: Focus, now_monotonic: float) -> tuple[str, ...]:
        """The nodes to ask for, empty for the whole fleet: always where it is small or its turn has come."""
        if (
            not 0 < len(look.nodes) <= MOST_NODES
            or len(self._cards) < self._many_cards
            or self._whole_at is None
        ):
            return ()
        return look.nodes if now_monotonic - self._whole_at < FLEET_SECONDS else ()

    async def _replay(self, cards: Sequence[Gpu], now_seconds: float) -> None:
        """Put the last minutes of cards that are new to the store there first."""
        new = [card for card in cards if card.uuid not in self._cards]
        known: Mapping[str, Sequence[Stretch]] = {}
        with suppress(TimeoutError):
            async with asyncio.timeout(lately.PATIENCE_SECONDS):
                known = await self._besides("lately", lambda: self._source.lately(now_seconds), {})
        for moment in lately.replayed(new, known):
            self._sink(Batch(kind=Kind.GPU, changed=shifted(moment, self._skew.seconds)))

    async def _recall(self, look: Focus, now_seconds: float) -> None:
        """The last hour of what is in sight, once a minute and after the numbers of now."""
        if self._remember is None or look.past is None or self._is_resting("past"):
            return
        at = self._clock.monotonic()
        if self._past is not None and self._past[0] == look.past and at - self._past[1] < AGAIN_SECONDS:
            return
        asked = look.past
        self._past = (asked, at)
        self._remember(await self._besides("past", lambda: self._source.past(asked, now_seconds), {}))

    def _pods(self, look: Focus) -> list[Pod]:
        pods: Mapping[str, Pod] = self._cluster.records(Kind.POD)
        return [pods[uid] for uid in look.pods[:MOST_PODS] if uid in pods]

    async def _attributed(self, cards: list[Gpu]) -> list[Gpu]:
        """Marks checked against the pods of each node; gives way to the loop now and then."""
        if not self._cluster.records(Kind.POD):
            return cards
        nodes: dict[str, Node] = {node.name: node for node in self._cluster.records(Kind.NODE).values()}
        by_node: dict[str, list[Gpu]] = {}
        for card in cards:
            by_node.setdefault(card.node, []).append(card)
        before: dict[str, list[Gpu]] = {}
        for card in self._cards.values():
            before.setdefault(card.node, []).append(card)
        status = self._cluster.status(Kind.POD)
        sees_all = status is None or (status.is_whole and status.is_current)
        found: list[Gpu] = []
        for count, (name, own) in enumerate(by_node.items()):
            if count % 100 == 99:
                await asyncio.sleep(0)
            node = nodes.get(name)
            if node is None:
                found.extend(own)
                continue
            pods, last = self._cluster.pods_on(name), before.get(name, ())
            claimed = self._cluster.pods_by_card(name)
            found.extend(
                attribute(own, pods, last, node.gpu_replicas, sees_all_pods=sees_all, claimed=claimed)
            )
        return found

    def _left(self, cards: Iterable[Gpu], seen: Collection[str]) -> frozenset[str]:
        """Silent cards of nodes that have left the cluster: no source reports them."""
        nodes: Mapping[str, Node] = self._cluster.records(Kind.NODE)
        names = {node.name for node in nodes.values()}
        self._nodes_met |= names
        return frozenset(
            card.uuid
            for card in cards
            if card.node not in names and card.node in self._nodes_met and card.uuid not in seen
        )

    # ---- telling

    async def _emit(self, cards: Sequence[Gpu], gone: Sequence[str], found: int) -> None:
        is_moved, self._shifted_by = self._skew.seconds != self._shifted_by, self._skew.seconds
        changed = [card for card in cards if is_moved or self._cards.get(card.uuid) != card]
        for card in cards:
            self._cards[card.uuid] = card
        for uuid in gone:
            self._cards.pop(uuid, None)
        status = self._live(found)
        first = True
        while first or changed:
            if not first:
                await asyncio.sleep(0)
            first = False
            now, changed = changed[:_CHUNK], changed[_CHUNK:]
            self._sink(
                Batch(
                    kind=Kind.GPU,
                    changed=shifted(now, self._shifted_by),
                    removed=() if changed else tuple(gone),
                    status=None if changed else status,
                )
            )

    def _live(self, found: int) -> StreamStatus:
        now = self._heard_seconds = self._clock.now()
        source, skew = self._source, self._skew.seconds
        told = (source.complaint, *clock_sentences(source.who, skew, self._cards.values()))
        message = " ".join(item for item in told if item)
        if not found and not self._cards:
            message = message or self._source.nothing
        return StreamStatus(
            kind=Kind.GPU,
            phase=Phase.LIVE,
            message=message,
            objects=len(self._cards),
            heard_seconds=now,
            is_partial=source.is_partial,
            clock_ahead_seconds=skew,
        )

    def _fail(self, error: TelemetryError) -> float:
        pause = min(_LONGEST_PAUSE_SECONDS, self._interval_seconds * 2.0 ** min(self.failures, 10))
        pause *= 0.8 + 0.4 * self._rng.random()
        pause = max(pause, error.wait_seconds)
        self._is_throttled = error.wait_seconds > 0
        self.failures += 1
        now = self._clock.now()
        changed: list[Gpu] = []
        if self._answered_at is not None:
            # how long a source has been silent is our time, not that of its samples
            pace = self._clock.cluster_pace()
            then, at = self._answered_at
            shown, _ = aged(
                self._cards.values(),
                {},
                then + (self._clock.monotonic() - at) * pace,
                self._sample_interval_seconds * pace,
                seen_seconds=then,
            )
            changed = [card for card in shown if self._cards[card.uuid] != card]
            self._cards.update((card.uuid, card) for card in changed)
        status = StreamStatus(
            kind=Kind.GPU,
            phase=error.phase,
            message=error.told(pause),
            objects=len(self._cards),
            since_seconds=self._clock.cluster_now(),
            heard_seconds=self._heard_seconds,
            retry_seconds=now + pause,
        )
        self._sink(Batch(kind=Kind.GPU, changed=shifted(changed, self._shifted_by), status=status))
        self._beside.tell((), (), ())  # their age is unknown
        return pause


# ---- usage of pods


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
