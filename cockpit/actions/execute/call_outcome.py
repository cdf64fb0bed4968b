"""One call of a plan: what sends it, and what was answered, or refused, as an outcome."""

from collections.abc import Awaitable
from typing import Final, Protocol, runtime_checkable

from cockpit.actions.execute.read_back import is_eviction
from cockpit.actions.refusals import explain
from cockpit.errors import Refused
from cockpit.model.plan import Call, Outcome
from cockpit.model.session import Session

AT_ONCE: Final = 8
"""Dry runs and actions under way at once; an API server shares its patience among all who ask."""


@runtime_checkable
class _Telling(Protocol):
    """An answer from outside the cluster."""

    sentence: str
    """What a person should know besides that it is done; "" nothing."""


class Perform(Protocol):
    """What sends one call (cockpit.kube.calls.perform); raises Refused and NoConnection."""

    def __call__(self, session: Session, call: Call, /, *, dry_run: bool = ...) -> Awaitable[object]: ...


def refused_outcome(call: Call, error: Refused) -> Outcome:
    """`unchanged` where what it removes is already gone, else `refused`."""
    if (call.method == "DELETE" or is_eviction(call)) and error.said.is_gone:
        return Outcome(state="unchanged", sentence=f"{call.target} is already gone", refusal=error.said)
    return Outcome(
        state="refused",
        sentence=explain(target_of(call), error),
        refusal=error.said,
        is_moved=error.said.is_changed,
    )


def target_of(call: Call) -> str:
    """What it is done to, in words; else its path."""
    return call.target or call.path


def sentence_of(answer: object) -> str:
    """What a cloud said besides that it is done; "" for an API server."""
    return answer.sentence if isinstance(answer, _Telling) else ""
