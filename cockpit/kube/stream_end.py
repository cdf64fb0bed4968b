"""How an attempt of a stream ended, and what a server's refusal means for it."""

import enum

import msgspec

from cockpit.kube.decode.wire import ServerStatus
from cockpit.kube.refusal import read_refusal
from cockpit.kube.resource import Resource
from cockpit.model.refusal import By, Remedy
from cockpit.model.right import cannot


class How(enum.Enum):
    """Why an attempt ended."""

    CLOSED = "closed by the server"
    CUT = "cut"
    SILENT = "silent"
    EXPIRED = "version expired"
    THROTTLED = "throttled"
    DENIED = "denied"
    REJECTED = "credentials rejected"
    ABSENT = "not served"
    UNREADABLE = "unreadable"
    FAILED = "failed"
    NO_STREAMING_LIST = "no streaming list"
    NO_WATCH = "watching is denied"
    POLLED = "read once"


class Ended(msgspec.Struct, frozen=True):
    """How an attempt ended; `lived_seconds` counts from the answer's head."""

    how: How
    message: str = ""
    retry_after_seconds: float = 0.0
    lived_seconds: float = 0.0


LONGEST_WAIT_SECONDS = 300.0
"""A server that asks for more is asked again all the same."""
LAGGING_SECONDS = 3.5
"""The least wait for a server that has not come as far as our version, which another one of the same cluster
told us; it asks for one second itself."""
_LAGS = "ResourceVersionTooLarge"  # apiserver storage.NewTooLargeResourceVersionError


class Where(msgspec.Struct, frozen=True):
    """What a stream reads, for sentences: `pods in team-a`."""

    words: str
    is_all_namespaces: bool = False

    def denied(self, verbs: str) -> str:
        """The sentence for a user without the right to `verbs` this."""
        wider = ", or choose a namespace" if self.is_all_namespaces else ""
        told = cannot(f"{verbs} {self.words}")
        return f"{told[0].upper()}{told[1:]}: {Remedy.ASK_FOR_RIGHT.value}{wider}."


def _denied(where: Where, said: ServerStatus) -> Ended:
    """Names the verb that is missing. Who may list but not watch can still read now and then."""
    refusal = read_refusal(403, said)
    right = refusal.right
    if refusal.by is By.IMPERSONATION:
        return Ended(How.DENIED, f"The user behind may not act as another: {refusal.message}.")
    verb = right.verb if right is not None and right.verb in ("list", "watch") else "list and watch"
    return Ended(How.NO_WATCH if verb == "watch" else How.DENIED, where.denied(verb))


def judge(where: Where, code: int, said: ServerStatus, retry_after: float | None) -> Ended:
    """What an HTTP status or an error event means; `where` is what was asked for."""
    wait = min(retry_after or said.retry_after_seconds or 0.0, LONGEST_WAIT_SECONDS)
    text = said.message or f"HTTP {code}"
    if code == 410 or said.reason in ("Expired", "Gone"):
        return Ended(How.EXPIRED, text)
    if code == 401:
        return Ended(How.REJECTED)  # whose login it was, and what to do, the session says
    if code == 403:
        return _denied(where, said)
    if code in (404, 405):
        return Ended(How.ABSENT, f"The server does not serve {where.words}.")
    if any(cause.reason == _LAGS for cause in said.causes):
        return Ended(How.FAILED, f"{where.words}: the server is behind ({text})", max(wait, LAGGING_SECONDS))
    if code in (429, 503) or wait:
        return Ended(How.THROTTLED, f"The server is throttling ({code}): {text}", wait)
    return Ended(How.FAILED, f"{where.words}: {text}")


REFUSALS = (How.DENIED, How.NO_WATCH, How.ABSENT)


def where(resource: Resource, namespace: str) -> Where:
    """How a stream of that resource is named in sentences."""
    if not resource.namespaced:
        return Where(resource.label)
    return Where(f"{resource.label} in {namespace or 'all namespaces'}", not namespace)
