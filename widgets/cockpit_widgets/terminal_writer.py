"""Writes to a terminal in a thread: an app whose terminal is not read goes on, and can be left."""

import os
import select
import signal
import termios
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from cockpit_widgets.stand_ins import STAND_INS

BEHIND_CHARACTERS = 32 << 10
"""With more than this on its way a terminal gets no frame until it has taken it; the next one has it all."""
BEHIND_SECONDS = 0.05
"""The same where something has been on its way for that long: a slow terminal shows nothing that is old."""
PIECE_BYTES = 1024
"""A write that waits is not called off: what restores the terminal has to fit behind it, in 4 KiB."""
LEAVE_SECONDS = 0.25
"""Patience at the end; then what the terminal did not take is dropped."""


class TerminalWriter(threading.Thread):
    """In the place of Textual's, whose queue of 30 texts holds the app up, and whose end waits for ever.

    `when_caught_up` is called, from this thread, when everything was taken after `is_behind`.
    """

    def __init__(
        self,
        descriptor: int,
        encoding: str,
        when_caught_up: Callable[[], None],
        *,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(daemon=True, name="terminal output")
        self._descriptor = descriptor
        self._encoding = encoding
        self._when_caught_up = when_caught_up
        self._texts: deque[str] = deque()
        self._waiting = 0
        self._waiting_since = 0.0
        self._now = now
        self._number = self._first_kept = 0
        self._was_behind = False
        self._is_leaving = False
        self._changed = threading.Condition()

    @property
    def is_behind(self) -> bool:
        """True while the terminal has not taken what it was sent."""
        with self._changed:
            is_late = self._waiting > 0 and self._now() - self._waiting_since > BEHIND_SECONDS
            is_behind = is_late or self._waiting > BEHIND_CHARACTERS
            self._was_behind = self._was_behind or is_behind
            return is_behind

    def write(self, text: str) -> None:
        """Send it as soon as the terminal takes it."""
        with self._changed:
            if not self._waiting:
                self._waiting_since = self._now()
            self._texts.append(text)
            self._waiting += len(text)
            self._changed.notify_all()

    def flush(self) -> None:
        """The thread does."""

    def isatty(self) -> bool:
        """As the file that it stands for."""
        return True

    def fileno(self) -> int:
        """The descriptor that is written."""
        return self._descriptor

    def run(self) -> None:
        """Write until told to stop and everything was taken."""
        while True:
            with self._changed:
                while not self._texts and not self._is_leaving:
                    self._changed.wait()
                if not self._texts:
                    return
                text, number = self._texts.popleft(), self._number
                self._number += 1
            self._put(number, text.encode(self._encoding, STAND_INS))
            with self._changed:
                self._waiting -= len(text)
                is_caught_up = self._was_behind and not self._texts
                self._was_behind = self._was_behind and not is_caught_up
                self._changed.notify_all()
            if is_caught_up:
                self._when_caught_up()

    def stop(self) -> None:
        """End. A terminal that takes nothing gets what restores it and loses what it was sent before."""
        with self._changed:
            self._is_leaving = True
            self._changed.notify_all()
        self.join(LEAVE_SECONDS)
        if not self.is_alive():
            return
        with self._changed:
            while len(self._texts) > _LAST_TEXTS:
                self._texts.popleft()
                self._number += 1
            self._first_kept = self._number
        with suppress(termios.error, ValueError):
            termios.tcflush(self._descriptor, termios.TCOFLUSH)
            # the kernel does not wake who waits to write; a signal does, and Python tries the write again
            signal.signal(signal.SIGURG, lambda *_: None)
            signal.pthread_kill(self.ident or 0, signal.SIGURG)
        self.join(LEAVE_SECONDS)

    def _put(self, number: int, data: bytes) -> None:
        left = memoryview(data)
        with suppress(OSError):  # the terminal is gone: SIGHUP or its reader ends the app
            while left and number >= self._first_kept:
                try:
                    left = left[os.write(self._descriptor, left[:PIECE_BYTES]) :]
                except BlockingIOError:
                    select.select((), (self._descriptor,), ())


_LAST_TEXTS = 16
"""More than what Textual and the app write to give a terminal back, each a few characters."""
