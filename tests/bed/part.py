"""One process of the bed: how it starts, how it is known to be ready, what it wrote when it failed."""

import ctypes
import os
import signal
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.bed.cache import BedError

# Says None when ready, else why not yet.
Probe = Callable[[], str | None]
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Part:
    """`argv` runs in `cwd` with `env` added; ready within `deadline_seconds` or the bed does not start."""

    name: str
    argv: tuple[str, ...]
    probe: Probe
    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict)
    pass_fds: tuple[int, ...] = ()
    deadline_seconds: float = 90.0


def _die_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def http_probe(url: str, token: str = "") -> Probe:
    """Ready when the address answers 200; certificates of loopback health addresses go unchecked."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    # No proxy from the environment: every address here is on this machine.
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
    )

    def probe() -> str | None:
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
        try:
            with opener.open(request, timeout=5) as answer:
                return None if answer.status == 200 else f"{url} answers {answer.status}"
        except urllib.error.HTTPError as error:
            return f"{url} answers {error.code}"
        except (OSError, ValueError) as error:
            return f"{url}: {getattr(error, 'reason', error)}"

    return probe


class Running:
    """A started part. Its output goes to LOGS/NAME.log; a restart appends to the same file."""

    def __init__(self, part: Part, logs: Path) -> None:
        self.part = part
        self.log = logs / f"{part.name}.log"
        with self.log.open("ab") as sink:
            self.process = subprocess.Popen(
                part.argv,
                cwd=part.cwd,
                env={**os.environ, **part.env},
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                pass_fds=part.pass_fds,
                start_new_session=True,
                # The runner starts parts while no other thread of it lives.
                preexec_fn=_die_with_parent,  # noqa: PLW1509
            )

    def tail(self, lines: int = 2) -> str:
        """The last lines it wrote, joined by ' / '."""
        text = self.log.read_text(errors="replace").strip().splitlines()
        return " / ".join(text[-lines:]) if text else "it wrote nothing"

    def check_alive(self) -> None:
        """Raises BedError when the process has ended."""
        if (code := self.process.poll()) is not None:
            raise BedError(f"{self.part.name} ended with code {code}: {self.tail()} (log {self.log})")

    def kill(self) -> None:
        """Ends it at once, stopped or not; a bed's data is thrown away, so nothing asks to be flushed."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
