"""How a person gets to each place and page of the cockpit on `idle.yaml`, and by what it is known."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Page:
    """`ways` are pressed one after the other, each once the word beside the one before is on the screen."""

    name: str
    ways: tuple[tuple[tuple[str, ...], str], ...]


def page(name: str, *ways: tuple[str, str]) -> Page:
    """Keys as one writes them, blanks between them, and what is shown then."""
    return Page(name, tuple((tuple(keys.split()), word) for keys, word in ways))


_START = ("1", "Needs a human")
_JOBS = ("2", "team-a/llm")
_FOUND = (_JOBS, ("/ l l m enter", "/ llm"))
_JOB = (*_FOUND, ("enter", "Members by rank"))
_UNFIT = (_JOBS, ("/ t o o - l a r g e enter", "/ too-large"))

LOGS = page("logs, 5 members", *_FOUND, ("l", "5 members"))
PAGES: tuple[Page, ...] = (
    page("Now", _START),
    page("Jobs", _JOBS),
    page("Nodes", ("3", "a100-")),
    page("Queues", ("4", "team-b")),
    page("Pools", ("5", "l40s")),
    page("Events", ("6", "Message")),
    page("Pods", ("7", "gpu-operator")),
    page("job", *_JOB),
    page("job, each GPU", *_JOB, ("x", "Rank by device")),
    page("job, rank grid", *_JOB, ("x", "Rank by device"), ("x", "a cell each")),
    LOGS,
    page("why", *_UNFIT, ("w", "can never give")),
    page("YAML", *_FOUND, ("y", "apiVersion")),
    page("node", ("3", "a100-"), ("/ h 1 0 0 - 4 enter", "/ h100-4"), ("enter", "Pods on this node")),
    page("pool", ("5", "l40s"), ("enter", "Nodes of the pool")),
    page("queue", ("4", "team-b"), ("enter", " queue team-")),
    page("help", _START, ("?", "Looking")),
    page("palette", _START, (":", "jobs")),
    page("filter line", _JOBS, ("/", "field:value")),
    page("new job", _START, ("N", "emplate")),
)
