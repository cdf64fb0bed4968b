"""The scheduler's sentence in plain words: pod conditions `PodScheduled` and `FailedScheduling` events.

kube-scheduler writes `0/N nodes are available: <count> <reason>, ... preemption: ...` or one sentence
without counts. Reasons contain dots and commas, and their wording moves between releases, so they are
matched by the tables of `cockpit.catalogue`, never split blindly. Sources: kubernetes
pkg/scheduler/framework/types.go (FitError), and those that the catalogue names.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from cockpit.catalogue import TextPlace, Understood, understand
from cockpit.gangs.sentence import counted, listed, one_line
from cockpit.k8s.gpu_resources import is_gpu_resource, resource_word
from cockpit.model.finding import Finding
from cockpit.model.sureness import Sureness

_HEAD = re.compile(r"0/(\d+) nodes are (?:un)?available: ?(.*)", re.DOTALL)
_PART = re.compile(r"(?:^|, )(\d+) (.*?)(?=, \d+ |$)", re.DOTALL)
_NOISE = re.compile(r"^(?:no new claims to deallocate|still not schedulable),\s*")
_TAIL = re.compile(r"[.,]?\s*(?:no new claims to deallocate,? ?)?\s*preemption: (.*)$", re.DOTALL)
# What a scheduler of gangs says in place of a node's reason: the pod itself would have had one.
_OF_THE_GROUP = re.compile(r"optimistic rejection|PodGroup not found", re.IGNORECASE)
_INSUFFICIENT = re.compile(r"Insufficient (\S+)", re.IGNORECASE)


class SchedulerText(NamedTuple):
    """The sentence taken apart. `nodes` is N of "0/N", None where the head is missing."""

    nodes: int | None
    parts: tuple[tuple[int, str], ...]
    rest: str  # what stands without counts
    preemption: str


@lru_cache(maxsize=256)  # thousands of pods have the same
def parse(message: str) -> SchedulerText:
    """Take the scheduler's sentence apart; text of another form comes back whole in `rest`."""
    text = " ".join(message.split())
    tail = _TAIL.search(text)
    preemption = ""
    if tail is not None:
        preemption, text = tail.group(1), text[: tail.start()]
    head = _HEAD.search(text)
    if head is None:
        return SchedulerText(None, (), text, preemption)
    body = _NOISE.sub("", head.group(2)).rstrip(". ")
    parts = tuple((int(count), reason.strip(" .")) for count, reason in _PART.findall(body))
    return SchedulerText(int(head.group(1)), parts, "" if parts else body, preemption)


def plain(message: str, *, gpus: int = 0) -> str:
    """The sentence in plain words, at most 100 characters, with the scheduler's numbers.

    `gpus` is what one pod asks for. Text that no table knows comes back as it is, cut: never hidden,
    never guessed. An empty message stays empty.
    """
    if not message.strip():
        return ""
    text = parse(message)
    if not text.parts or all(_OF_THE_GROUP.search(reason) for _, reason in text.parts):
        whole = _whole_cause(text.rest) or _whole_cause(message)
        return one_line(whole or text.rest or message)
    phrases = _phrases(text)
    head = f"needs {counted(gpus, 'GPU')} on one node: " if gpus > 1 else ""
    if gpus == 1:
        head = "needs 1 GPU: "
    return listed(head or "no node takes it: ", phrases)


def told(message: str, fallback: str = "") -> Finding:
    """What an engine says of a whole group: the row of the catalogue and the names that the text holds.

    `fallback` is the row where the text is not known.
    """
    found = _match(message)
    cause = fallback if found is None else found.cause
    facts = () if found is None else tuple((key, value) for key, value in found.names.items() if value)
    sureness = Sureness.SAID if cause else Sureness.UNKNOWN
    return Finding(cause=cause, sentence=plain(message), sureness=sureness, facts=facts)


@lru_cache(maxsize=1_024)
def is_consequence(message: str) -> bool:
    """True where the pod only waits for another member of its group; the cause stands on that one."""
    text = parse(message)
    if text.parts:
        return all(_OF_THE_GROUP.search(reason) for _, reason in text.parts)
    whole = _match(message)
    return whole is not None and whole.wording.is_consequence


def short_of(reason: str) -> str:
    """The resource that nodes of this part are short of, "" where the part says something else."""
    short = _INSUFFICIENT.search(reason)
    return "" if short is None else short.group(1).rstrip(".,")


def _match(text: str) -> Understood | None:
    return understand(TextPlace.POD, text)


def _whole_cause(text: str) -> str:
    cause = _match(text)
    return "" if cause is None else " ".join(cause.wording.words.format(**cause.names).split())


def _phrases(text: SchedulerText) -> list[str]:
    """One phrase a cause, GPUs first, then by how many nodes it rules out; equal words are added up."""
    sums: dict[tuple[str, str], int] = {}
    for count, reason in text.parts:
        words = _words(reason)
        sums[words] = sums.get(words, 0) + count
    ordered = sorted(sums.items(), key=lambda item: ("free GPUs" not in item[0][1], -item[1]))
    phrases: list[str] = []
    for (one, many), count in ordered:
        if phrases:  # the noun stands once
            noun = str(count)
        else:
            noun = f"all {count} nodes" if count == text.nodes and count > 1 else counted(count, "node")
        phrases.append(f"{noun} {one if count == 1 else many}")
    return phrases


def _words(reason: str) -> tuple[str, str]:
    short = _INSUFFICIENT.search(reason)
    if short is not None:
        resource = short.group(1).rstrip(".,")
        noun = resource_word(resource)
        noun = f"free {noun}" if is_gpu_resource(resource) else noun
        return f"lacks {noun}", f"lack {noun}"
    found = understand(TextPlace.NODES, reason)
    if found is not None:
        wording = found.wording
        return wording.words.format(**found.names), wording.many.format(**found.names)
    reason = re.sub(r"^(?:node\(s\)|nodes?)\s+", "", reason)
    return reason, reason
