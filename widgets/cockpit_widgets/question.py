"""A dialog that is answered by who has seen it."""

import math
from abc import abstractmethod
from time import monotonic

from textual.events import Event, Key
from textual.screen import ModalScreen


class Question(ModalScreen[bool]):
    """Base of the dialogs that a yes answers.

    Keys come in faster than a dialog is drawn: a `y` behind the key that asks, in one packet of a slow line,
    was typed before the question was seen. The dispatcher of keys checks `is_blind` first.
    """

    _seen_at = math.inf

    @property
    @abstractmethod
    def is_drawn(self) -> bool:
        """Whether what it asks now has been drawn."""

    @abstractmethod
    def tell_blind(self) -> None:
        """Say that something was no answer because it was typed before the question was there."""

    @abstractmethod
    def says_no(self, key: str) -> bool:
        """Whether the key does nothing but leave the question with no."""

    def is_blind(self, event: Event) -> bool:
        """Whether this was typed before the question, as it stands, was on the screen: no answer to it. A no
        counts all the same."""
        return event.time < self._seen_at and not (isinstance(event, Key) and self.says_no(event.key))

    def on_screen_resume(self) -> None:
        self.ask_anew()

    def ask_anew(self) -> None:
        """Mark the question as changed and not yet painted."""
        self._seen_at = math.inf
        self.refresh()

    def _compositor_refresh(self) -> None:
        super()._compositor_refresh()
        is_written = self.app.screen is self and not self.app._batch_count
        if self._seen_at == math.inf and is_written and self.is_drawn:
            self._seen_at = monotonic()
