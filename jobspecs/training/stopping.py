"""SIGTERM and SIGHUP as a question that the training loop asks between two steps.

A rank that waits for a peer is inside the exchange and runs no Python, so a handler would never be called.
The signal's number therefore goes through a pipe to a thread, which ends the process where the loop has not
done so in time.
"""

import os
import signal
import socket
import threading
from collections.abc import Callable

STOPPED = 143
"""Exit code after a stop: what a shell says of SIGTERM. Not 0: a job that lost a worker is not finished."""


class Stopping:
    """Whether this process was asked to end. Made once, in the main thread."""

    def __init__(self, grace_s: float, asked: Callable[[str], None]) -> None:
        self._event = threading.Event()
        self._grace_s = grace_s
        self._asked = asked
        self._reader, writer = socket.socketpair()
        writer.setblocking(False)
        self._writer = writer
        signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: self._event.set())
        threading.Thread(target=self._listen, name="stopping", daemon=True).start()

    @property
    def is_asked(self) -> bool:
        """Whether SIGTERM or SIGHUP came."""
        return self._event.is_set()

    def _listen(self) -> None:
        while True:
            number = self._reader.recv(1)[0]
            if number in (signal.SIGTERM, signal.SIGHUP):
                break
        self._event.set()
        self._asked(signal.Signals(number).name)
        threading.Event().wait(self._grace_s)
        os._exit(STOPPED)
