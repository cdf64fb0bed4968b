"""Performing calls: plans made elsewhere, sent here and nowhere else."""

from cockpit.errors import NotTried, Refused
from cockpit.kube.answer import ApiAnswer
from cockpit.kube.refusal import refusal_of
from cockpit.kube.session import ApiSession
from cockpit.model.plan import Call
from cockpit.model.refusal import By, Refusal


async def perform(session: ApiSession, call: Call, *, dry_run: bool = False) -> ApiAnswer:
    """Send one call; `dry_run` lets the server check and admit it without storing anything.

    Raises Refused with the refusal as data for a status of 300 and above, and NoConnection when no answer
    came: then nobody knows whether it was done, and it must not be repeated unseen. A dry run that the
    server did not make raises NotTried: it says nothing about the request.
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
    answer = await session.request(
        call.method, call.path, query=tuple(query), body=body, content_type=call.content_type
    )
    if answer.status >= 300:
        said = refusal_of(answer, call.path)
        sentence = f"{call.target or call.path}: {said.message} ({said.status})"
        raise NotTried(sentence, said) if dry_run and not _was_tried(said) else Refused(sentence, said)
    return answer


def _was_tried(said: Refusal) -> bool:
    """Whether the refusal of a dry run tells what the request itself would meet.

    Not where the server has no time for it, and not where a webhook with side effects keeps it from dry runs
    (apiserver pkg/admission/plugin/webhook/errors). A webhook that does not answer is met by the request,
    too.
    """
    if said.status >= 500:
        return said.by is By.WEBHOOK_DOWN
    return said.status not in (408, 429) and said.by is not By.WEBHOOK_DRY_RUN
