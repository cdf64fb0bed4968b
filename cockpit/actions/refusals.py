"""From a refusal as data to one sentence that names what happened and what to do. Nothing reads it back."""

from collections.abc import Callable
from dataclasses import dataclass

from cockpit.errors import Answered, Refused
from cockpit.model.refusal import By, Refusal, Remedy
from cockpit.model.right import cannot

_LONGEST = 300


@dataclass(frozen=True, slots=True)
class _Row:
    """One kind of refusal. `words` may name the target and what the refusal holds, see `_say`."""

    fits: Callable[[Refusal], bool]
    words: str
    remedy: Remedy = Remedy.NONE


def _by(who: By) -> Callable[[Refusal], bool]:
    return lambda said: said.by is who


def _status(*codes: int) -> Callable[[Refusal], bool]:
    return lambda said: said.status in codes


# The first row that fits is taken.
_TABLE = (
    _Row(lambda said: said.status == 0, "{target}: {message}"),
    _Row(
        lambda said: said.is_taken,
        "{target} already exists: {remedy}, or kill that one first",
        Remedy.OTHER_NAME,
    ),
    _Row(lambda said: said.is_recreated, "{target} was deleted and recreated; {remedy}", Remedy.REFRESH),
    _Row(_by(By.WEBHOOK), "{target} was denied by admission webhook {name}: {why}"),
    _Row(_by(By.WEBHOOK_DOWN), "{target}: admission webhook {name} does not answer: {why}"),
    _Row(_by(By.WEBHOOK_DRY_RUN), "{target}: admission webhook {name} does not support dry run"),
    _Row(_by(By.POLICY), "{target} was denied by admission policy {name}: {why}"),
    _Row(_by(By.QUOTA), "{target} exceeds the quota of its namespace: {why}"),
    _Row(_by(By.BUDGETS), "{target}: several PodDisruptionBudgets protect it: the server does not evict it"),
    _Row(
        _by(By.IMPERSONATION),
        "{target}: the user behind may not act as another; {remedy} ({message})",
        Remedy.ASK_FOR_RIGHT,
    ),
    _Row(_by(By.RIGHTS), "{target}: {cannot}; {remedy} ({message})", Remedy.ASK_FOR_RIGHT),
    _Row(lambda said: said.is_changed, "{target} was modified in the meantime; {remedy}", Remedy.REFRESH),
    _Row(
        lambda said: said.is_namespace_missing,
        "{target}: namespace {subject} does not exist; {remedy}",
        Remedy.OTHER_NAMESPACE,
    ),
    _Row(
        lambda said: said.has_cause("NamespaceTerminating"),
        "{target}: namespace {namespace} is being deleted; {remedy}",
        Remedy.OTHER_NAMESPACE,
    ),
    _Row(lambda said: said.is_gone, "{target} is already gone; {remedy}", Remedy.REFRESH),
    _Row(_status(401), "{target}: the server rejected the credentials (401); {remedy}", Remedy.LOG_IN),
    _Row(
        lambda said: said.has_cause("DisruptionBudget"),
        "{target}: blocked by a PodDisruptionBudget; {remedy} ({message})",
        Remedy.LATER,
    ),
    _Row(_status(429), "{target}: throttled; {remedy} ({message})", Remedy.LATER),
    _Row(lambda _said: True, "{target}: the cluster refused: {message}"),
)


def withheld(status: int, right: str) -> str:
    """Why a read got nothing: `denied: list leases` for a 403, another text for a 401, which is no right that
    is missing; "" for any other status."""
    if status == 403:
        return f"denied: {right}"
    return f"not logged in (401): {Remedy.LOG_IN.value}" if status == 401 else ""


def explain(target: str, error: Answered) -> str:
    """One sentence, with its remedy, for what became of `target`."""
    said = error.said
    return sentence_of(target, said) if said.status else _cut(f"{target}: {error.sentence}")


def sentence_of(target: str, said: Refusal) -> str:
    """The one place where a refusal becomes words."""
    row = _row(said)
    wait = said.retry_after_seconds
    later = f"try again in {wait:g} s" if wait and row.remedy is Remedy.LATER else row.remedy.value
    return _cut(
        row.words.format(
            target=target,
            message=said.message,
            remedy=later,
            name=said.name,
            why=said.why or "no reason given",
            cannot=cannot(said.right or "do that"),
            subject=said.subject.name,
            namespace=said.asked.namespace,
        )
    )


def recreated(target: str) -> Refused:
    """What is raised where the object that was meant has made room for another one of its name."""
    said = Refusal(status=409, reason="Conflict", by=By.UID)
    return Refused(sentence_of(target, said), said)


def taken(target: str) -> str:
    """The sentence for a name that belongs to another object already."""
    return sentence_of(target, Refusal(status=409, reason="AlreadyExists"))


def _row(said: Refusal) -> _Row:
    return next(row for row in _TABLE if row.fits(said))


def _cut(sentence: str) -> str:
    return sentence if len(sentence) <= _LONGEST else f"{sentence[: _LONGEST - 1].rstrip()}…"
