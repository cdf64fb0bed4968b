"""What the gates of a job share: evidence, which of all that blocks a thing is told first, and what may be
said of what is not there. Pure."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from cockpit.catalogue import ListOf, Permanence, lasts, row_of, yields
from cockpit.gangs.draft import joined
from cockpit.gangs.sentence import SENTENCE_LIMIT, one_line
from cockpit.gangs.wording import fits
from cockpit.jobs.members import is_up as runs
from cockpit.model.event import Event
from cockpit.model.finding import Evidence, Finding, Subject
from cockpit.model.listing import Incomplete, listing
from cockpit.model.namespaces import Namespaces
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.model.sureness import Sureness


def finished(found: Finding, subject: Subject, *, state: str = "", gpus: int = 0) -> Finding:
    """The verdict about a subject."""
    every = (*found.also, *(cause for one in found.then for cause in (one.cause, *one.also)))
    return replace(
        found,
        subject=subject,
        root=found.root if found.root != subject else None,
        permanence=lasts(found),
        also=tuple(dict.fromkeys(cause for cause in every if cause and cause != found.cause)),
        state=state,
        gpus=gpus,
    )


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


_SURE = (Sureness.PROVED, Sureness.SAID, Sureness.INFERRED, Sureness.UNKNOWN)


def judged(blockers: Sequence[Finding | None]) -> Finding | None:
    """The blocker that is told first, with the others behind it in `then`; None without any.

    What never passes comes before what passes when somebody acts, and that before what passes by itself; of
    equals what is proved before what is said and that before what is inferred; what says less than another
    (a column of the catalogue) and what names no cause comes last; a thing's own cause comes before what
    several do to each other.
    """
    found = list(_each_once(one for one in blockers if one is not None))
    if len(found) < 2:
        return found[0] if found else None
    ordered = sorted(found, key=lambda one: _rank(one, found))
    first, *others = ordered
    return replace(first, then=(*first.then, *others))


def _rank(one: Finding, among: list[Finding]) -> tuple[int, Permanence, bool, int]:
    says_less = any(other is not one and yields(one.cause, other.cause) for other in among)
    generality = 2 if not one.cause else 1 if says_less else 0
    return generality, lasts(one), row_of(one.cause).is_story, _SURE.index(one.sureness)


def _each_once(blockers: Iterable[Finding]) -> Iterable[Finding]:
    seen: set[tuple[str, str]] = set()
    for one in blockers:
        key = (one.cause, one.sentence)
        if key not in seen:
            seen.add(key)
            yield one


def gaps(store: StoreReader, lists: Iterable[ListOf], namespace: str = "") -> list[Incomplete]:
    """Of the lists those that do not tell all there is, in that namespace or in all."""
    found = (listing(store, kind, "" if is_wide else namespace) for kind, is_wide in lists)
    return [one for one in found if isinstance(one, Incomplete)]


def qualified(found: Finding, store: StoreReader, namespace: str = "") -> Finding:
    """The same, with the name of each list on which it rests and that is not complete, and not proved then.

    What a component said of the subject stands by itself where lists are only old.
    """
    unsure = gaps(store, row_of(found.cause).rests_on, namespace)
    then = tuple(qualified(one, store, namespace) for one in found.then)
    is_said = found.sureness in (Sureness.SAID, Sureness.UNKNOWN)
    if is_said:
        unsure = [one for one in unsure if not one.has_all]
    if unsure:
        found = with_gaps(found, unsure)
    return replace(found, sureness=found.sureness if is_said or not unsure else Sureness.INFERRED, then=then)


def with_gaps(found: Finding, unsure: Iterable[Incomplete]) -> Finding:
    """The same cause, and behind it what is not known: all of it, or as much as there is room for."""
    words = [one.words for one in unsure]
    if not words:
        return found
    found = replace(found, unknown=", ".join(words))
    for told in (", ".join(words), *words[:1]):
        made = joined(found, "", f"; {told}")
        if fits(made.words, **dict(made.names)):
            return made
    tail = f"; {words[0]}"
    return replace(found, sentence=one_line(found.sentence, SENTENCE_LIMIT - len(tail)) + tail, words="")


def nothing_seen(store: StoreReader, lists: Iterable[ListOf], namespace: str = "") -> str:
    """What is said where no trouble is seen: "" where the lists that would tell of one are complete, else
    which of them are not."""
    unsure = gaps(store, lists, namespace)
    return f"nothing seen; {', '.join(one.words for one in unsure)}" if unsure else ""


def quiet(store: StoreReader, namespaces: Namespaces) -> str:
    """That no row is there: of nodes, and of pods in the namespaces that are shown. Without a full stop."""
    lists = tuple(ListOf(kind) for kind in (Kind.NODE, Kind.POD))
    seen = next((told for one in namespaces.names or ("",) if (told := nothing_seen(store, lists, one))), "")
    return seen or "nothing needs a human"


def not_found(subject: Subject, store: StoreReader, kinds: Iterable[str]) -> Finding:
    """That the subject is not among what is listed, and which of those lists are not complete."""
    unsure = gaps(store, (ListOf(kind) for kind in kinds), subject.namespace)
    told = f"no {subject.kind} of that name is known here" + "".join(f"; {one.words}" for one in unsure[:1])
    return Finding(subject=subject, sentence=told, sureness=Sureness.UNKNOWN)
