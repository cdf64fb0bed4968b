"""From an answer to a refusal as data: the only place that looks for facts in the text of a Status.

The API server puts what it decides itself into status, reason, details and causes. The names of webhooks,
policies and quotas, the missing right and a uid that differs stand in the message alone.
"""

import re
from collections.abc import Collection
from typing import Any

import msgspec

from cockpit.errors import Refused
from cockpit.kube.answer import ApiAnswer
from cockpit.kube.decode.wire import ServerStatus
from cockpit.kube.guard import read_path
from cockpit.mask import mask_text, secret_values
from cockpit.model.refusal import By, ObjectRef, Refusal
from cockpit.model.right import Right

_WEBHOOK = r'admission webhook "(?P<name>[^"]+)" '
# In this order: what a webhook or a policy gives as its reason may hold the words of the ones below.
_TEXTS = tuple(
    (by, re.compile(pattern, re.DOTALL))
    for by, pattern in (
        (By.WEBHOOK_DRY_RUN, _WEBHOOK + "does not support dry run"),
        (By.WEBHOOK, _WEBHOOK + "denied the request(?:: (?P<why>.*))?"),
        (By.WEBHOOK_DOWN, r'failed calling webhook "(?P<name>[^"]+)": (?P<why>.*)'),
        (By.POLICY, r"ValidatingAdmissionPolicy '(?P<name>[^']+)'.*?denied request: (?P<why>.*)"),
        (By.BUDGETS, r"has more than one PodDisruptionBudget"),
        (By.QUOTA, r"exceeded quota: (?P<why>(?P<name>[^,]*).*)"),
        (By.IMPERSONATION, r'cannot impersonate(?:-on:[a-z-]+:\w+)? (?:resource|path) "'),
        (By.RIGHTS, r'cannot \w+ resource "'),
        (By.UID, r"(?i:UID in (?:the )?precondition)"),
    )
)
_ONLY_AT = {
    By.BUDGETS: 500,
    By.IMPERSONATION: 403,
    By.RIGHTS: 403,
    By.QUOTA: 403,
    By.UID: 409,
    By.WEBHOOK_DRY_RUN: 400,
}
_RIGHT = re.compile(
    r'cannot (?P<verb>\w+) resource "(?P<resource>[^"/]+)(?:/(?P<subresource>[^"]+))?"'
    r'(?: in API group "(?P<group>[^"]*)")?(?: in the namespace "(?P<namespace>[^"]*)")?'
)


def read_refusal(status: int, said: ServerStatus, path: str = "", secrets: Collection[str] = ()) -> Refusal:
    """The refusal of a request to `path`, from the HTTP status and the Status object in the answer.

    Servers and webhooks repeat what they refuse: `secrets` are values that were sent and are not told.
    """
    target = read_path(path)
    asked = ObjectRef()
    if target is not None:
        asked = ObjectRef(target.resource, target.name, target.group, target.namespace)
    message = mask_text(" ".join(said.message.split()), secrets)
    found = Refusal(
        status=status,
        reason=said.reason,
        message=message or f"HTTP {status} without an explanation",
        causes=tuple(
            msgspec.structs.replace(cause, message=mask_text(cause.message, secrets)) for cause in said.causes
        ),
        asked=asked,
        subject=ObjectRef(said.kind, said.name, said.group) if said.name or said.kind else ObjectRef(),
        retry_after_seconds=said.retry_after_seconds,
    )
    if status == 422 and any(cause.field == "metadata.uid" for cause in said.causes):
        # What a patch that names a uid meets when its object was replaced by one of the same name.
        return msgspec.structs.replace(found, by=By.UID)
    for by, pattern in _TEXTS:
        match = pattern.search(message)
        if match is not None and _ONLY_AT.get(by, status) == status:
            named = match.groupdict()
            name, why = named.get("name") or "", named.get("why") or ""
            return msgspec.structs.replace(found, by=by, name=name, why=why, right=_right(by, message))
    return found


def _right(by: By, message: str) -> Right | None:
    match = _RIGHT.search(message) if by is By.RIGHTS else None
    if match is None:
        return None
    return Right(**{name: value or "" for name, value in match.groupdict().items()})


def refused(where: str, answer: ApiAnswer, path: str = "") -> Refused:
    """The exception for an answer that is a refusal: `where` begins its sentence."""
    found = refusal_of(answer, path)
    return Refused(f"{where}: {found.message}", found)


def refusal_of(answer: ApiAnswer, path: str = "", body: Any = None) -> Refusal:
    """The refusal in a whole answer to a request to `path` with that body."""
    found = read_refusal(answer.status, answer.server_status(), path, secret_values(body))
    wait = answer.retry_after_seconds or found.retry_after_seconds
    return msgspec.structs.replace(found, retry_after_seconds=wait, audit_id=answer.audit_id)
