"""Which lines of a log are shown: regular expressions in and out, and members by rank.

Grammar: words apart by blanks, all of them must hold. `loss` is a regular expression that the line must
match, `!nccl` one that it must not; `rank:0-3,7` keeps these ranks, `rank:launcher` the members whose label
holds that word, `!rank:0` leaves them out; `"two words"` quotes blanks. A pattern without capital letters
finds either case.
"""

import re
from dataclasses import dataclass

from cockpit.errors import BadInput
from cockpit.model.log import LogLine, LogSource

LOOKED_AT_CHARACTERS = 4_096
"""Of each line: a pattern of one's own shall not walk through a line of a megabyte."""
LONGEST_PATTERN = 500
HIGHEST_RANK = 1_000_000
_WORD = re.compile(r'(?P<not>!)?(?P<rank>rank:)?(?:"(?P<quoted>[^"]*)"|(?P<bare>[^\s"]\S*))')


@dataclass(frozen=True, slots=True)
class Ranks:
    """Members by rank (whole numbers, ends included) or by a word of their label."""

    spans: tuple[tuple[int, int], ...] = ()
    words: tuple[str, ...] = ()

    def holds(self, source: LogSource) -> bool:
        """Whether the member is one of them; the launcher has no rank."""
        rank = None if source.is_leader else source.rank
        if rank is not None and any(low <= rank <= high for low, high in self.spans):
            return True
        return any(word in source.label.lower() for word in self.words)


@dataclass(frozen=True, slots=True)
class LogFilter:
    """What must match, what must not, and whose lines."""

    wanted: tuple[re.Pattern[str], ...] = ()
    unwanted: tuple[re.Pattern[str], ...] = ()
    ranks: tuple[Ranks, ...] = ()
    other_ranks: tuple[Ranks, ...] = ()

    @property
    def is_empty(self) -> bool:
        """True when every line passes."""
        return not (self.wanted or self.unwanted or self.ranks or self.other_ranks)

    def takes(self, source: LogSource) -> bool:
        """Whether lines of that member may pass at all."""
        return all(rank.holds(source) for rank in self.ranks) and not any(
            rank.holds(source) for rank in self.other_ranks
        )

    def passes(self, line: LogLine) -> bool:
        """Whether the line is shown; notes are, as long as their member is."""
        if not self.takes(line.source):
            return False
        if line.is_note:
            return True
        text = line.text[:LOOKED_AT_CHARACTERS]
        return all(item.search(text) for item in self.wanted) and not any(
            item.search(text) for item in self.unwanted
        )


def parse_log_filter(text: str) -> LogFilter:
    """The filter that `text` means. Raises BadInput with one sentence."""
    found: dict[str, list[re.Pattern[str]]] = {"": [], "!": []}
    members: dict[str, list[Ranks]] = {"": [], "!": []}
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        word = _WORD.match(text, at)
        if word is None or (word.end() < len(text) and not text[word.end()].isspace()):
            raise BadInput(f'Filter: {text[at : at + 20]!r} cannot be read; quote as in "two words".')
        at = word.end()
        value = word["quoted"] if word["quoted"] is not None else word["bare"]
        side = "!" if word["not"] else ""
        if word["rank"]:
            members[side].append(parse_ranks(value))
        elif value:
            found[side].append(pattern(value))
    return LogFilter(tuple(found[""]), tuple(found["!"]), tuple(members[""]), tuple(members["!"]))


def pattern(text: str) -> re.Pattern[str]:
    """A regular expression as a person types it; lower case finds both. Raises BadInput."""
    if len(text) > LONGEST_PATTERN:
        raise BadInput(f"Filter: a pattern of {len(text)} characters is too long; at most {LONGEST_PATTERN}.")
    try:
        return re.compile(text, re.NOFLAG if text != text.lower() else re.IGNORECASE)
    except (re.error, OverflowError, RecursionError) as error:
        raise BadInput(f"Filter: {text!r} is not a regular expression: {error}.") from None


def parse_ranks(text: str) -> Ranks:
    """`0`, `0-3,7`, `launcher`. Raises BadInput."""
    spans: list[tuple[int, int]] = []
    words: list[str] = []
    for part in text.split(","):
        low, dash, high = part.partition("-")
        if low.isascii() and low.isdecimal() and (not dash or (high.isascii() and high.isdecimal())):
            first, last = _rank(low), _rank(high or low)
            if last < first:
                raise BadInput(f"Filter: rank:{text[:40]} runs backwards; write rank:{last}-{first}.")
            spans.append((first, last))
        elif part and not part[0].isdigit():
            words.append(part.lower())
        else:
            raise BadInput(
                f"Filter: rank:{text[:40]} names no rank; write rank:0, rank:0-3,7 or rank:launcher."
            )
    return Ranks(tuple(spans), tuple(words))


def _rank(digits: str) -> int:
    number = int(digits) if len(digits) <= 7 else HIGHEST_RANK + 1
    if number > HIGHEST_RANK:
        raise BadInput(f"Filter: rank {digits[:20]} is beyond {HIGHEST_RANK}.")
    return number
