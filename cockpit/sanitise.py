"""Text from outside (a cluster, a metrics server, a file), made safe for a terminal: once, where it enters.

What is taken away: C0 and C1 controls (so ESC and 8-bit CSI), DEL, bidirectional overrides and marks,
invisible format characters, lone surrogates. Newlines, tabs and line separators become one space. Of marks
that stand in one cell with the letter before them (accents, joiners) MOST_MARKS are left: thousands of them
would paint over other lines.

The protobuf package gives a string that is not UTF-8 as bytes (who cuts a message may cut a letter); they
become text here, with a replacement character for what is broken.
"""

import re
import sys
import unicodedata
from collections.abc import Callable

SHORT = 253  # names: the API server's own limit for a DNS subdomain
SENTENCE = 2048  # messages: the API server cuts events and conditions at 1 kB and 32 kB
ELLIPSIS = "…"
MOST_MARKS = 4
"""Of one cell; Hebrew and Vietnamese need three."""

_HOSTILE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
_PERHAPS_MARKS = re.compile(f"[\u0300-\U0010ffff]{{{MOST_MARKS + 1},}}")
_SPACES = {ord(item): " " for item in "\t\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029"}


def _mark(found: re.Match[str]) -> str:
    return _SPACES.get(ord(found.group()), "")


def _is_mark(character: str) -> bool:
    """True for a character without its own cell; Hangul vowels and finals join the consonant before them."""
    return unicodedata.category(character) in ("Mn", "Me", "Cf") or "\u1160" <= character <= "\u11ff"


def _few_marks(found: re.Match[str]) -> str:
    kept: list[str] = []
    marks = 0
    for character in found.group():
        marks = marks + 1 if _is_mark(character) else 0
        if marks <= MOST_MARKS:
            kept.append(character)
    return "".join(kept)


def _harmless(text: str) -> str:
    return _PERHAPS_MARKS.sub(_few_marks, _HOSTILE.sub(_mark, text))


def clean(text: str | bytes, limit: int = SENTENCE) -> str:
    """One line of text without anything that a terminal obeys, at most `limit` characters."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    if len(text) > limit:
        text = text[: max(limit - 1, 0)] + ELLIPSIS[:limit]
    if text.isascii() and text.isprintable():
        return text
    return _harmless(text)


def clean_block(text: str | bytes, limit: int = 1 << 20) -> str:
    """Text of several lines: as `clean`, but line feeds stay and a tab becomes four spaces."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    if len(text) > limit:
        text = text[: max(limit - 1, 0)] + ELLIPSIS[:limit]
    if text.isascii() and text.isprintable():
        return text
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join(_harmless(line.replace("\t", "    ")) for line in lines)


LONGEST_WORD = 256
"""Longer text is hardly ever seen twice and is not remembered."""


class WordCache(dict[str, str]):
    """Cleaned spelling of words that come again and again, one object for each.

    `words[raw]` costs one dictionary look-up for a word seen before. A list of 50,000 pods holds a few
    hundred different words, so their records share them. Forgets everything when it grows past `bound`.
    """

    def __init__(self, bound: int = 100_000, make: Callable[[str, int], str] = clean) -> None:
        """`make` cleans a word that was not seen before."""
        super().__init__()
        self._bound = bound
        self._make = make

    def __missing__(self, raw: str) -> str:
        if len(raw) > LONGEST_WORD:
            return self._make(raw, SENTENCE)
        if len(self) >= self._bound:
            self.clear()
        word = sys.intern(self._make(raw, SENTENCE))
        self[raw] = word
        return word


WORDS = WordCache()
"""The dictionary that all decoders of this process share: spellings only, no state of a cluster."""
