"""What a soak stands on: the app in a terminal, behind a link and a proxy, before an embedded cluster."""

import asyncio
import contextlib
import hashlib
import json
import os
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cockpit.sim.faults.exchange import Exchange, Fault, SeenRequest
from tests.adapters.faults.proxy import FaultProxy
from tests.bed.api import Api, ApiError
from tests.bench.returns import Link
from tests.contract import faults
from tests.tui.pseudo_terminal import KEYS, READ_BYTES, PseudoTerminal

LAST_BYTES = 1 << 16
ANSWER_SECONDS = 60.0
"""An app that does not answer for so long hangs."""
REVIEWS = ("selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews")


class Gate(FaultProxy):
    """A proxy that lets in who shows the token of the day, and asks the server with one that it knows."""

    def __init__(self, upstream_url: str, upstream_ca: Path, *, token: str, upstream_token: str) -> None:
        super().__init__(upstream_url, upstream_ca)
        self.token = token
        self._upstream_token = upstream_token

    def _fault_for(self, seen: SeenRequest) -> Fault | None:
        if seen.headers.get("Authorization") != f"Bearer {self.token}":
            return faults.status(401, reason="Unauthorized", message="Unauthorized")
        fault = super()._fault_for(seen)

        async def known(exchange: Exchange) -> None:
            exchange.headers["Authorization"] = f"Bearer {self._upstream_token}"
            await (exchange.forward() if fault is None else fault(exchange))

        return known

    @property
    def writes(self) -> list[str]:
        """Requests that were to change something."""
        return [
            f"{seen.method} {seen.path}"
            for seen in self.seen
            if seen.method not in ("GET", "HEAD") and not seen.path.endswith(REVIEWS)
        ]

    @property
    def watched(self) -> set[str]:
        """Paths of everything that was watched."""
        return {seen.path for seen in self.seen if seen.is_watch}


class Screen(PseudoTerminal):
    """A terminal of which only the last bytes are kept: to draw a session of hours takes a processor."""

    is_read = True

    def take(self, seconds: float) -> bool:
        if not self.is_readable(seconds):
            return True
        try:
            chunk = os.read(self._fd, READ_BYTES)
        except OSError:  # the other side is closed
            return False
        self.sent = (self.sent + chunk)[-LAST_BYTES:]
        return bool(chunk)

    def read_on(self) -> None:
        """Have the running loop read whatever comes."""
        os.set_blocking(self._fd, False)
        asyncio.get_running_loop().add_reader(self._fd, self._comes)

    def leave(self) -> None:
        """Read no more."""
        asyncio.get_running_loop().remove_reader(self._fd)

    def _comes(self) -> None:
        if not self.take(0):
            self.leave()

    def write(self, sent: bytes) -> None:
        """Send keys as bytes; to a program that has ended or takes none, none."""
        with contextlib.suppress(OSError):
            os.write(self._fd, sent)

    def ended(self) -> int | None:
        """The exit code; None while it runs."""
        pid, status = os.waitpid(self._pid, os.WNOHANG)
        if pid:
            self.exit_code = os.waitstatus_to_exitcode(status)
        return self.exit_code


@dataclass(frozen=True)
class Holdings:
    """What the app told of itself, and what the system tells of its process."""

    records: Mapping[str, tuple[str, str]]  # uid -> version, key
    phases: Mapping[str, str]
    messages: Mapping[str, str]
    faults: Mapping[str, str]
    tasks: Counter[str]
    descriptors: Counter[str]  # without connections that are kept for another request
    resident_kib: int


@dataclass
class Ground:
    """Everything that a fault may touch."""

    gate: Gate
    link: Link
    screen: Screen
    api: Api
    socket: Path
    state: Path
    token_file: Path
    damaged: set[str] = field(default_factory=set)
    """Paths of objects that were damaged on the way: what came of them is right once they change again."""

    # ---- the app

    async def hear(self, word: str = "tell") -> Holdings:
        """What it holds now. Raises OSError where it is gone, or does not answer."""
        async with asyncio.timeout(ANSWER_SECONDS):
            reader, writer = await asyncio.open_unix_connection(self.socket, limit=1 << 26)
            writer.write(f"{word}\n".encode())
            told: dict[str, Any] = json.loads(await reader.readline())
        writer.close()
        return Holdings(
            {uid: (version, key) for uid, (version, key) in told["records"].items()},
            told["phases"],
            told["messages"],
            told["faults"],
            Counter(told["tasks"]),
            descriptors(self.screen.pid) - Counter(socket=told["kept_connections"]),
            resident_kib(self.screen.pid),
        )

    def reports(self) -> list[Path]:
        """Reports of errors that were not expected."""
        return sorted((self.state / "crashes").glob("*.txt"))

    # ---- the server

    async def truth(self) -> dict[str, tuple[str, str]]:
        """uid -> version and path of everything that lies where the app watched."""
        return await asyncio.to_thread(self._truth)

    def _truth(self) -> dict[str, tuple[str, str]]:
        found: dict[str, tuple[str, str]] = {}
        for path in sorted(self.gate.watched):
            try:
                items = self.api.items(path)
            except ApiError:
                continue  # a kind that was taken away
            for item in items:
                meta = item["metadata"]
                space = f"namespaces/{meta['namespace']}/" if meta.get("namespace") else ""
                base, _, plural = path.rpartition("/")
                found[meta["uid"]] = (meta["resourceVersion"], f"{base}/{space}{plural}/{meta['name']}")
        return found


def differences(told: Holdings, *truths: Mapping[str, tuple[str, str]]) -> list[str]:
    """A line for each record that is as in none of these states of the server."""
    lines = []
    for uid in told.records.keys() | {uid for truth in truths for uid in truth}:
        here, states = told.records.get(uid), [truth.get(uid) for truth in truths]
        if any(_version(state) == _version(here) for state in states):
            continue
        key = next(known[1] for known in (*states, here) if known is not None)
        lines.append(f"{key}: {_version(here)} here, {_version(states[-1])} at the server")
    return sorted(lines)


def _version(known: tuple[str, str] | None) -> str:
    return "nothing" if known is None else f"version {known[0]}"


def state_hash(versions: Mapping[str, tuple[str, str]]) -> str:
    """Of identities and versions."""
    pairs = sorted((uid, version) for uid, (version, _) in versions.items())
    return hashlib.sha256(json.dumps(pairs).encode()).hexdigest()[:12]


def descriptors(pid: int) -> Counter[str]:
    """How many open descriptors of a process lead where, without numbers."""
    found = Counter[str]()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):  # closed meanwhile
            found[str(entry.readlink()).partition(":[")[0]] += 1
    return found


def resident_kib(pid: int) -> int:
    """Resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError(f"process {pid} has no memory")


def processor_seconds(pid: int) -> float:
    """Processor time that a process took, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


_NAMED = {
    **KEYS,
    "space": b" ",
    "pagedown": b"\x1b[6~",
    "pageup": b"\x1b[5~",
    "home": b"\x1b[H",
    "end": b"\x1b[F",
}


def as_bytes(key: str) -> bytes:
    """A key as a terminal sends it. Raises KeyError for a name that is not known."""
    if len(key) == 1:
        return key.encode()
    if key.startswith("ctrl+"):
        return bytes([ord(key[-1]) & 0x1F])
    return _NAMED[key]


def since(began: float) -> float:
    """Seconds of this machine."""
    return time.monotonic() - began
