"""Sentences short enough for one line of a table."""

SENTENCE_LIMIT = 100


def one_line(text: str, limit: int = SENTENCE_LIMIT) -> str:
    """The text on one line, cut at a word within `limit` characters and closed with an ellipsis."""
    text = " ".join(text.split())
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    space = head.rfind(" ")
    if space >= limit * 2 // 3:
        head = head[:space]
    return head.rstrip(" ,;:") + "…"


def counted(number: int, one: str, many: str = "") -> str:
    """The number with its noun: "1 node", "3 nodes"."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def times(number: int) -> str:
    """How often: "once", "3 times"."""
    return "once" if number == 1 else f"{number} times"


def freed(gpus: int) -> str:
    """ "1 GPU becomes free", "3 GPUs become free"."""
    return f"{counted(gpus, 'GPU')} {'becomes' if gpus == 1 else 'become'} free"


def listed(head: str, parts: list[str], limit: int = SENTENCE_LIMIT) -> str:
    """The head and as many parts as fit, separated by commas; what does not fit is counted."""
    text = head
    for taken, part in enumerate(parts):
        left = len(parts) - taken - 1
        tail = f", +{left} more" if left else ""
        joint = "" if taken == 0 else ", "
        if taken and len(text) + len(joint) + len(part) + len(tail) > limit:
            return one_line(f"{text}, +{left + 1} more", limit)
        text += joint + part
    return one_line(text, limit)
