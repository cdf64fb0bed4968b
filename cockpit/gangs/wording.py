"""Sentences of at most 100 characters that keep their cause and their numbers: only names are shortened."""

from cockpit.gangs.sentence import SENTENCE_LIMIT, one_line

_SHORTEST = 9
"""Characters below which a name tells nothing any more."""


def shortened(name: str, width: int) -> str:
    """The name in at most `width` characters, its middle left out: both ends tell more."""
    if len(name) <= width:
        return name
    if width < 3:
        return name[:width]
    head = width // 2
    tail = width - 1 - head
    return f"{name[:head]}…{name[len(name) - tail :]}" if tail else f"{name[: width - 1]}…"


def short(name: str) -> str:
    """The name in at most 32 characters, for words of a change."""
    return name if len(name) <= 32 else f"{name[:15]}…{name[-16:]}"


def fits(text: str, /, **names: object) -> bool:
    """Whether `say` has to shorten no more than names."""
    shortest = {key: one if isinstance(one, int) else str(one)[:_SHORTEST] for key, one in names.items()}
    return len(text.format(**shortest)) <= SENTENCE_LIMIT


def say(text: str, /, **names: object) -> str:
    """The text with its names put in, at most 100 characters: the longest names are shortened in the middle.

    Numbers are never shortened. Where even the shortest names leave no room, the end is cut.
    """
    spoken = {
        key: value if isinstance(value, int) else " ".join(str(value).split()) for key, value in names.items()
    }
    whole = text.format(**spoken)
    over = len(whole) - SENTENCE_LIMIT
    while over > 0:
        long = max(
            (key for key, value in spoken.items() if isinstance(value, str) and f"{{{key}" in text),
            key=lambda key: len(str(spoken[key])),
            default="",
        )
        length = len(str(spoken[long])) if long else 0
        if length <= _SHORTEST:
            return one_line(whole)
        others = sorted(
            (len(value) for key, value in spoken.items() if isinstance(value, str) and key != long)
        )
        floor = max(_SHORTEST, others[-1] if others and others[-1] < length else _SHORTEST)
        spoken[long] = shortened(
            str(spoken[long]), max(floor, length - over) if length > floor else length - 1
        )
        whole = text.format(**spoken)
        over = len(whole) - SENTENCE_LIMIT
    return whole
