"""The sentence of the row under the cursor, whole: a cell in a narrow table cuts what matters most."""

from cockpit_widgets.text import plain
from textual.widgets import Static


class RowSentence(Static):
    """At most three lines beneath a table; gone when there is nothing to say."""

    DEFAULT_CSS = """
    RowSentence { display: none; height: auto; max-height: 3; padding: 0 2; }
    RowSentence { color: $foreground; background: $surface; }
    RowSentence.open { display: block; }
    """

    def __init__(self) -> None:
        super().__init__("", markup=False)
        self._sentence = ""

    def say(self, sentence: str, *, marked: int = 0) -> None:
        """Show how many rows are marked, and the sentence; the same again costs nothing."""
        sentence = " · ".join(filter(None, (f"{marked:,} marked" if marked else "", sentence)))
        if sentence == self._sentence:
            return
        self._sentence = sentence
        self.set_class(bool(sentence), "open")
        self.update(plain(sentence))
