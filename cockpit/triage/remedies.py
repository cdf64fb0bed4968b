"""What helps where something needs a human: words, and the key that does it."""

from collections.abc import Iterable

from cockpit.model.finding import KeyRemedy

__all__ = ["DRAIN", "KILL", "LIST", "LOGS", "OPEN", "RECLAIM", "WHY", "KeyRemedy", "remedy_text"]

WHY = KeyRemedy("why", "w", "why")
LOGS = KeyRemedy("logs", "l", "logs")
OPEN = KeyRemedy("open", "enter", "open")
LIST = KeyRemedy("list", "enter", "open")
DRAIN = KeyRemedy("drain after its jobs", "D", "D", is_write=True)
RECLAIM = KeyRemedy("reclaim", "R", "R", is_write=True)
KILL = KeyRemedy("kill", "K", "K", is_write=True)


def remedy_text(remedies: Iterable[KeyRemedy]) -> str:
    """Remedies in one line: `w why  K kill`."""
    return "  ".join(one.text for one in remedies)
