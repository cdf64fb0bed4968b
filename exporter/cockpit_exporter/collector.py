"""The one thread that reads the driver and publishes an immutable snapshot for its readers."""

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cockpit_exporter.cards import CardReader
from cockpit_exporter.driver import CARD_IS_GONE, DRIVER_IS_GONE, CallFailed, Nvml, text
from cockpit_exporter.lanes import Lanes, Overrun
from cockpit_exporter.model import Card, Device, Snapshot, Versions

DRIVER_CHANGED = 3
"""Exit status: the driver was replaced or unloaded under the running exporter, or library and it differ."""

DRIVER_UNREACHABLE = 4
"""Exit status: the driver library says nothing but unknown. A container that lost its device nodes wants a
restart."""

MOST_UNKNOWN = 2


@dataclass(frozen=True, slots=True)
class CollectorPace:
    """How often and how long. Seconds."""

    interval_seconds: float = 5.0
    deadline_seconds: float = 2.0
    retry_seconds: float = 60.0
    start_seconds: float = 30.0  # without persistence mode the driver wakes every card when it is opened


class _Waiting(Exception):
    """It is not yet time to try the driver again."""


class Collector:
    """Reads all cards every interval. `snapshot` is whole at any time; `exit_status` is set where only a new
    process can go on."""

    def __init__(
        self,
        nvml: Nvml,
        pace: CollectorPace,
        clock: Callable[[], float],
        pod_of: Callable[[int], str],
        proc: Path = Path("/proc"),
    ) -> None:
        self._nvml = nvml
        self._pace = pace
        self._clock = clock
        self._cards = CardReader(nvml, pod_of, clock)
        self._lanes = Lanes()
        self._version_file = proc / "driver/nvidia/version"
        self._loaded = ""
        self._is_initialised = False
        self._unknowns = 0
        self._retry_at = 0.0
        self._known: dict[str, Device] = {}
        self._stop = threading.Event()
        self.snapshot = Snapshot(clock())
        self.exit_status = 0

    def run(self) -> None:
        """Rounds until `stop` or until only a restart helps."""
        while not self._stop.is_set() and not self.exit_status:
            began = self._clock()
            self.step()
            self._stop.wait(max(0.0, self._pace.interval_seconds - (self._clock() - began)))

    def stop(self) -> None:
        """End after the round at hand. Driver calls that never return are left behind."""
        self._stop.set()

    def close(self) -> None:
        """Leave the driver, where it lets us."""
        if self._is_initialised:
            self._is_initialised = False
            with suppress(CallFailed, Overrun):  # the process ends anyhow
                self._run("shutdown", lambda: self._nvml.call("nvmlShutdown"))
        self._lanes.close()

    def is_stale(self) -> bool:
        """True where the snapshot is older than three intervals."""
        return self._clock() - self.snapshot.taken_seconds > 3 * self._pace.interval_seconds

    @property
    def is_unloaded(self) -> bool:
        """True where the driver was unloaded and not, as far as is known, replaced by another version."""
        return self.exit_status == DRIVER_CHANGED and self.snapshot.reason != "version-mismatch"

    def expect_identity(self, uuid: str) -> None:
        self._cards.expect_identity(uuid)

    def step(self) -> Snapshot:
        """One round. Never raises for what a driver does."""
        began = self._clock()
        try:
            cards = self._round()
            reason, detail = "", ""
        except CallFailed as problem:
            reason, detail = self._judge(problem)
            cards = self._all_down(reason)
        except Overrun:
            reason, detail = "hung", "the driver did not answer by the deadline"
            cards = self._all_down(reason)
        except _Waiting:
            reason, detail = self.snapshot.reason, self.snapshot.detail
            cards = self._all_down(reason)
        now = self._clock()
        self.snapshot = replace(
            self.snapshot,
            taken_seconds=now,
            reason=reason,
            detail=detail,
            cards=cards,
            rounds=self.snapshot.rounds + 1,
            round_seconds=now - began,
            hung_calls=self._lanes.stuck(),
            failure_counts=MappingProxyType(self._nvml.failure_counts()),
        )
        return self.snapshot

    def _run(self, key: str | int, work: Callable[[], Any]) -> Any:
        return self._lanes.run(key, work, self._pace.deadline_seconds)

    def _round(self) -> tuple[Card, ...]:
        if not self._is_initialised:
            self._initialise()
        version = self._version()
        if self._loaded and version and version != self._loaded:
            raise CallFailed("driver/nvidia/version", "version-mismatch")
        count = self._run("count", lambda: self._nvml.call("nvmlDeviceGetCount"))
        cards = [self._card(index) for index in range(count)]
        found = {card.device.uuid for card in cards}
        for card in cards:
            if card.device.uuid and not card.down:
                self._known[card.device.uuid] = card.device
        # cards that were here and are not: lost at an index that told no UUID, or no longer listed
        gone = [one for uuid, one in self._known.items() if uuid not in found]
        unasked = [card for card in cards if not card.device.uuid]
        told = {item.index for item in gone}
        cards = [card for card in cards if card.device.uuid or card.device.index not in told]
        reasons = {card.device.index: card.down for card in unasked}
        now = self._clock()
        for item in gone:
            reason = reasons.get(item.index, "missing")
            cards.append(Card(item, now, down=reason, is_lost=reason == "missing" or reason in CARD_IS_GONE))
        return tuple(sorted(cards, key=lambda one: (one.device.index, one.device.uuid)))

    def _card(self, index: int) -> Card:
        """The card at an index; without UUID where it could not even be asked."""
        try:
            card: Card = self._run(index, lambda: self._cards.read(index))
        except Overrun:
            return Card(Device("", index), self._clock(), down="hung")
        except CallFailed as problem:
            if problem.error in DRIVER_IS_GONE:
                raise
            is_lost = problem.error in CARD_IS_GONE
            return Card(Device("", index), self._clock(), down=problem.error, is_lost=is_lost)
        return card

    def _initialise(self) -> None:
        now = self._clock()
        if now < self._retry_at:
            raise _Waiting
        self._retry_at = now + self._pace.retry_seconds
        try:
            self._lanes.run("init", lambda: self._nvml.call("nvmlInitWithFlags", 0), self._pace.start_seconds)
        except Overrun:
            self._retry_at = now  # at the next round: is it still stuck
            raise
        self._is_initialised = True
        self._unknowns = 0
        self._loaded = self._version()
        versions = self._run("versions", self._versions)
        self.snapshot = replace(self.snapshot, versions=versions)

    def _versions(self) -> Versions:
        def told(function: str) -> Any:
            try:
                return self._nvml.call(function)
            except CallFailed:
                return b""

        cuda = told("nvmlSystemGetCudaDriverVersion_v2")
        return Versions(
            driver=text(told("nvmlSystemGetDriverVersion")),
            nvml=text(told("nvmlSystemGetNVMLVersion")),
            cuda=f"{cuda // 1000}.{cuda % 1000 // 10}" if isinstance(cuda, int) else "",
        )

    def _version(self) -> str:
        """The loaded kernel module's version line, "" where /proc tells none."""
        try:
            with self._version_file.open("rb") as file:
                return file.readline(4096).decode("utf-8", "replace")
        except OSError:
            return ""  # gone or hidden; calls will tell

    def _judge(self, problem: CallFailed) -> tuple[str, str]:
        """Whether to stay and try again, or to end so that a new process reloads the library."""
        was_up = self._is_initialised
        if problem.error == "version-mismatch" or (was_up and problem.error in DRIVER_IS_GONE):
            self.exit_status = DRIVER_CHANGED
        elif problem.error == "unknown" and not was_up:
            self._unknowns += 1
            if self._unknowns >= MOST_UNKNOWN:
                self.exit_status = DRIVER_UNREACHABLE
        return problem.error, f"{problem.function}: {problem.error}"

    def _all_down(self, reason: str) -> tuple[Card, ...]:
        now = self._clock()
        known = sorted(self._known.values(), key=lambda one: (one.index, one.uuid))
        return tuple(Card(item, now, down=reason) for item in known)
