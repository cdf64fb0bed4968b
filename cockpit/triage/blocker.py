"""What holds a thing at one gate, before it is a verdict about a subject."""

import re
from collections.abc import Mapping

import msgspec

from cockpit.catalogue import Permanence, permanence_of
from cockpit.gangs.wording import fits, say
from cockpit.jobs.members import is_up as runs
from cockpit.model.event import Event
from cockpit.model.pod import Pod
from cockpit.model.sureness import Sureness
from cockpit.triage.verdict import Evidence, Funnel, Subject, Then, Verdict

NOT_UNDERSTOOD = "not understood"


class Blocker(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a verdict but for its subject; see `cockpit.triage.verdict`.

    `permanence` None: that of its cause. `also` are causes that hold besides of which no more is known;
    `then` is what else blocks, in the order in which it is to be mended.
    """

    cause: str
    sentence: str
    sureness: Sureness = Sureness.SAID
    facts: tuple[tuple[str, str], ...] = ()
    evidence: tuple[Evidence, ...] = ()
    funnel: Funnel | None = None
    since_seconds: float | None = None
    root: Subject | None = None
    also: tuple[str, ...] = ()
    words: str = ""  # the sentence before its names were put in, "" where it was made otherwise
    names: tuple[tuple[str, object], ...] = ()
    permanence: Permanence | None = None
    then: tuple["Blocker", ...] = ()

    @property
    def lasts(self) -> Permanence:
        """Whether it passes by itself."""
        return permanence_of(self.cause) if self.permanence is None else self.permanence


_OPTIONAL = r"(?:: | \(|, it asks |, )?\{%s\}\)?"


def without_empty(words: str, names: Mapping[str, object]) -> str:
    """The words without the places of names that a text left out, and without what joins them."""
    for name, value in names.items():
        if value == "":
            words = re.sub(_OPTIONAL % name, "", words)
    return words


def draft(
    cause: str,
    text: str,
    /,
    *,
    names: Mapping[str, object] | None = None,
    sureness: Sureness = Sureness.SAID,
    facts: tuple[tuple[str, str], ...] = (),
    evidence: tuple[Evidence, ...] = (),
    funnel: Funnel | None = None,
    since_seconds: float | None = None,
    root: Subject | None = None,
    also: tuple[str, ...] = (),
    permanence: Permanence | None = None,
) -> Blocker:
    """A cause whose sentence is `text` with the names put in; the names become facts, with `facts` behind."""
    given = dict(names or {})
    own = tuple((key, str(value)) for key, value in given.items() if str(value))
    words = without_empty(text, given)
    return Blocker(
        cause=cause,
        sentence=say(words, **given),
        words=words,
        names=tuple(given.items()),
        sureness=sureness,
        facts=(*own, *facts),
        evidence=evidence,
        funnel=funnel,
        since_seconds=since_seconds,
        root=root,
        also=also,
        permanence=permanence,
    )


_PLACE = re.compile(r"\{(\w+)\}")


def joined(found: Blocker, head: str, tail: str = "", /, **names: object) -> Blocker:
    """The same cause with words before and behind its sentence. Where they are too long together the names
    of both are shortened, never a number."""
    inner = _PLACE.sub(r"{of_\1}", found.words) if found.words else "{of_it}"
    words = f"{head}{inner}{tail}"
    given = {f"of_{key}": value for key, value in found.names} if found.words else {"of_it": found.sentence}
    return msgspec.structs.replace(
        found, sentence=say(words, **given, **names), words=words, names=(*given.items(), *names.items())
    )


def followed(found: Blocker, *tails: str, **names: object) -> Blocker:
    """The same cause with the first of the tails behind it with which no word of the sentence is cut."""
    for tail in tails:
        made = joined(found, "", tail, **{key: names[key] for key in names if f"{{{key}}}" in tail})
        if fits(made.words, **dict(made.names)):
            return made
    return found


def not_understood(text: str, *evidence: Evidence) -> Blocker:
    """A text that no row of the catalogue knows, shown raw."""
    return draft(
        "",
        "{text} (" + NOT_UNDERSTOOD + ")",
        names={"text": text},
        sureness=Sureness.UNKNOWN,
        evidence=evidence,
    )


def finished(found: Blocker, subject: Subject, *, state: str = "", gpus: int = 0) -> Verdict:
    """The verdict about a subject."""
    return Verdict(
        subject=subject,
        cause=found.cause,
        sentence=found.sentence,
        sureness=found.sureness,
        facts=found.facts,
        evidence=found.evidence,
        funnel=found.funnel,
        since_seconds=found.since_seconds,
        root=found.root if found.root != subject else None,
        permanence=found.lasts,
        then=tuple(Then(one.cause, one.sentence) for one in found.then),
        also=_causes_besides(found),
        state=state,
        gpus=gpus,
    )


def _causes_besides(found: Blocker) -> tuple[str, ...]:
    """Causes that hold besides, each once."""
    every = (*found.also, *(cause for one in found.then for cause in (one.cause, *one.also)))
    return tuple(dict.fromkeys(cause for cause in every if cause and cause != found.cause))


def of_pod(pod: Pod, field: str, value: str, since_seconds: float | None = None) -> Evidence:
    """A field of a pod as evidence."""
    return Evidence(f"Pod {pod.key}", field, value, since_seconds)


def of_event(event: Event) -> Evidence:
    """An event as evidence: so old as its first occurrence, for a repetition is no new trouble."""
    since = event.last_seconds if event.first_seconds is None else event.first_seconds
    name = f"{event.object_namespace}/{event.object_name}" if event.object_namespace else event.object_name
    return Evidence(f"{event.object_kind} {name}", f"event {event.reason}", event.message, since)


def is_up(pod: Pod) -> bool:
    """Running and ready, and no container of it waits to be started again."""
    return not pod.waiting_reason and runs(pod)
