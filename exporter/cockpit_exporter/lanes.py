"""Work with a deadline on threads that can be left behind.

A driver call may never return, and a thread inside it cannot be ended. The work of a round runs on one
thread; if a piece overruns, that thread is left behind with it and the rest goes on on a new one. A piece
that is still stuck is not started again, so there are never more threads than pieces.
"""

import queue
import threading
from collections.abc import Callable, Hashable
from typing import Any


class Overrun(Exception):
    """The piece did not end by its deadline, or is still stuck from an earlier round."""


class _Piece:
    __slots__ = ("done", "problem", "value", "work")

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
        self.done = threading.Event()
        self.value: Any = None
        self.problem: BaseException | None = None

    def run(self) -> None:
        try:
            self.value = self.work()
        except BaseException as problem:  # noqa: BLE001 - handed to the one that waits
            self.problem = problem
        finally:
            self.done.set()


class _Lane:
    """One thread and its inbox. Once left behind it ends after the piece at hand."""

    def __init__(self) -> None:
        self._inbox: queue.SimpleQueue[_Piece | None] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="driver calls", daemon=True).start()

    def put(self, piece: _Piece) -> None:
        self._inbox.put(piece)

    def end(self) -> None:
        self._inbox.put(None)

    def _run(self) -> None:
        while (piece := self._inbox.get()) is not None:
            piece.run()


class Lanes:
    """Runs pieces by key, one at a time. For one caller thread."""

    def __init__(self) -> None:
        self._lane: _Lane | None = None
        self._stuck: dict[Hashable, _Piece] = {}

    def run(self, key: Hashable, work: Callable[[], Any], deadline_seconds: float) -> Any:
        """The work's value or exception; Overrun where it takes longer or is still stuck."""
        old = self._stuck.get(key)
        if old is not None:
            if not old.done.is_set():
                raise Overrun
            del self._stuck[key]
        if self._lane is None:
            self._lane = _Lane()
        piece = _Piece(work)
        self._lane.put(piece)
        if not piece.done.wait(deadline_seconds):
            self._stuck[key] = piece
            self._lane.end()
            self._lane = None
            raise Overrun
        if piece.problem is not None:
            raise piece.problem
        return piece.value

    def stuck(self) -> int:
        """How many pieces have not come back."""
        return sum(not piece.done.is_set() for piece in self._stuck.values())

    def close(self) -> None:
        """End the idle thread; those left behind end when their call returns."""
        if self._lane is not None:
            self._lane.end()
            self._lane = None
