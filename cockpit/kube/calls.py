"""Performing calls: plans made elsewhere, sent here and nowhere else."""

from cockpit.errors import Refused
from cockpit.kube.answer import Answer
from cockpit.kube.session import Session
from cockpit.model.plan import Call


async def perform(session: Session, call: Call, *, dry_run: bool = False) -> Answer:
    """Send one call; `dry_run` lets the server check and admit it without storing anything.

    Raises Refused with the server's own sentence for a status of 400 and above, and NoConnection when no
    answer came: then nobody knows whether it was done, and it must not be repeated unseen.
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
        raise Refused(sentence(answer, call))
    return answer


def sentence(answer: Answer, call: Call) -> str:
    """What the server said about a refused call, with what it was about and the retry it proposes."""
    target = call.target or call.path
    said = answer.server_status()
    text = answer.message()
    wait = answer.retry_after_seconds or said.retry_after_seconds
    if answer.status == 401:
        return f"{target}: the server refuses the credentials (401); log in again."
    if answer.status == 404 and said.reason in ("", "NotFound"):
        return f"{target}: not found; it may be gone already ({text})."
    if answer.status == 409 and call.method.upper() != "POST":
        return f"{target}: it has changed since it was read, nothing was done ({text})."
    if answer.status == 422 and any(cause.startswith("metadata.uid:") for cause in said.causes):
        # What a patch that names a uid meets when its object was replaced by one of the same name.
        return f"{target}: it is another object than the one that was read, nothing was done ({text})."
    if answer.status == 429:
        later = f" Try again in {wait:g} s." if wait else ""
        return f"{target}: not now: {text}.{later}"
    return f"{target}: {text} ({answer.status})"
