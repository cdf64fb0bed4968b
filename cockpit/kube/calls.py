"""Performing calls: plans made elsewhere, sent here and nowhere else; what an answer to a write proves."""

from typing import Any, Final

from cockpit.errors import NotTried, OutcomeUnknown, Refused
from cockpit.kube.answer import ApiAnswer
from cockpit.kube.refusal import refusal_of
from cockpit.kube.session import ApiSession
from cockpit.model.plan import Call
from cockpit.model.refusal import By, Refusal

_BEFORE_STORING: Final = frozenset(
    (400, 401, 403, 404, 405, 406, 409, 410, 411, 412, 413, 414, 415, 422, 431)
)
"""Statuses with which the API server ends a request before anything is stored (apimachinery
pkg/api/errors). 408, 499 and all from 500 on are none of them: the time was over, or a step failed, and the
answer does not tell which."""
_AUDIT_ID: Final = "Audit-ID"
"""The API server takes a request's id from this header (apiserver pkg/endpoints/filters/audit_init.go)."""
_REFUSED_BEFORE: Final = (By.WEBHOOK_DOWN, By.BUDGETS)
"""Who refuses with 500 before anything is stored."""


async def perform(session: ApiSession, call: Call, *, dry_run: bool = False) -> ApiAnswer:
    """Send one call; `dry_run` lets the server check and admit it without storing anything.

    Raises Refused with the refusal as data where the answer proves that nothing was done, OutcomeUnknown
    where an answer proves nothing either way, and NoConnection where none came: after these two it must not
    be repeated unseen. A dry run that the server did not make raises NotTried: it says nothing about the
    request.
    """
    query = list(call.query)
    body = call.body
    if dry_run:
        query.append(("dryRun", "All"))
        if call.method.upper() == "DELETE" and body is not None:
            # The server overlooks the query of a delete that has a body: without this it would delete.
            body = {**body, "dryRun": ["All"]}
    if call.method.upper() in ("POST", "PUT", "PATCH") and not any(
        key == "fieldValidation" for key, _ in query
    ):
        query.append(("fieldValidation", "Strict"))
    more: dict[str, Any] = {"headers": ((_AUDIT_ID, call.request_id),)} if call.request_id else {}
    answer = await session.request(
        call.method, call.path, query=tuple(query), body=body, content_type=call.content_type, **more
    )
    if answer.ok and _is_object(answer):
        return answer
    said = refusal_of(answer, call.path, call.body)
    message = f"HTTP {answer.status} with no object in it" if answer.status < 400 else said.message
    sentence = f"{call.target or call.path}: {message} ({said.status})"
    if dry_run:
        raise Refused(sentence, said) if _was_tried(answer, said) else NotTried(sentence, said)
    if _proves_nothing_done(answer, said):
        raise Refused(sentence, said)
    raise OutcomeUnknown(sentence, said, is_over=_is_over(answer))


def _is_object(answer: ApiAnswer) -> bool:
    """Whether the body is what the API server answers to a write: an object, or a Status of success."""
    try:
        tree = answer.json()
    except Refused:
        return False
    if not isinstance(tree, dict) or (tree and not isinstance(tree.get("kind"), str)):
        return False
    return tree.get("kind") != "Status" or tree.get("status") != "Failure"


def _proves_nothing_done(answer: ApiAnswer, said: Refusal) -> bool:
    """Whether the refusal of a write proves that nothing was stored.

    Only the API server's own word does: a Status. Its limits on requests under way refuse in plain text, with
    Retry-After, before the request is begun (apiserver pkg/server/filters/priority-and-fairness.go); a 429
    without it is of some proxy.
    """
    is_status = answer.server_status().is_status
    if said.status == 429:
        return is_status or answer.retry_after_seconds is not None
    return is_status and (said.status in _BEFORE_STORING or said.by in _REFUSED_BEFORE)


def _is_over(answer: ApiAnswer) -> bool:
    """Whether the API server itself has ended the request. Not where it ran out of time (504) or passed it on
    to another server (503): that one may still be at it."""
    return answer.server_status().is_status and answer.status not in (408, 503, 504)


def _was_tried(answer: ApiAnswer, said: Refusal) -> bool:
    """Whether the refusal of a dry run tells what the request itself would meet.

    Not where the server has no time for it or a proxy answered, and not where a webhook with side effects
    keeps it from dry runs (apiserver pkg/admission/plugin/webhook/errors). A webhook that does not answer is
    met by the request, too.
    """
    if not answer.server_status().is_status:
        return False
    if said.status >= 500:
        return said.by in _REFUSED_BEFORE
    return said.status >= 300 and said.status not in (408, 429) and said.by is not By.WEBHOOK_DRY_RUN
