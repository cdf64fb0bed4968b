"""From the API server's refusal to one sentence that names what happened and what to do."""

import re

from cockpit.actions.submit import taken_sentence
from cockpit.model.plan import Call

_WEBHOOK = re.compile(r'admission webhook "(?P<name>[^"]+)" denied the request: (?P<why>.*)', re.DOTALL)
_WEBHOOK_DOWN = re.compile(r'failed calling webhook "(?P<name>[^"]+)": (?P<why>.*)', re.DOTALL)
_POLICY = re.compile(r"ValidatingAdmissionPolicy '(?P<name>[^']+)'.*denied request: (?P<why>.*)", re.DOTALL)
_FORBIDDEN = re.compile(r'cannot (?P<verb>\w+) resource "(?P<resource>[^"]+)"')
_QUOTA = re.compile(r"exceeded quota: (?P<why>.*)", re.DOTALL)
_NO_NAMESPACE = re.compile(r'namespaces "(?P<name>[^"]+)" not found')
_STALE = ("precondition", "object has been modified", "has changed since it was read")
_CONFLICT = re.compile(r"it has changed since it was read, nothing was done \((?P<why>.*)\)\.?$", re.DOTALL)
_STATUS = re.compile(r" \(\d{3}\)\.?$")
_LONGEST = 300
CHANGED = "changed meanwhile: look again"
"""How a refusal ends that only says that the object is newer than the plan."""


def is_changed(sentence: str) -> bool:
    """Whether a sentence of `refusal_sentence` says nothing but that the object is newer than the plan."""
    return sentence.endswith(CHANGED)


def refusal_sentence(call: Call, said: str) -> str:
    """One sentence for the refusal of `call`; `said` is what the server answered."""
    target = call.target or call.path
    said = _STATUS.sub("", " ".join(said.split()).removeprefix(f"{target}: "))
    lower = said.lower()
    if "already exists" in lower:
        return taken_sentence(target)
    if ("uid in" in lower and "precondition" in lower) or "is another object than" in lower:
        return f"{target} is another object of the same name now: look again"
    conflict = _CONFLICT.search(said)
    if conflict is not None and "admission" in lower:
        said = conflict["why"]  # a webhook or a policy may answer 409, too
    elif any(one in lower for one in _STALE):
        return f"{target} {CHANGED}"
    if found := _NO_NAMESPACE.search(said):
        return f"{target}: there is no namespace {found['name']}; choose another one"
    if found := _WEBHOOK.search(said):
        return _cut(f"{target} was denied by admission webhook {found['name']}: {found['why']}")
    if found := _WEBHOOK_DOWN.search(said):
        return _cut(f"{target}: admission webhook {found['name']} does not answer: {found['why']}")
    if found := _POLICY.search(said):
        return _cut(f"{target} was denied by admission policy {found['name']}: {found['why']}")
    if found := _QUOTA.search(said):
        return _cut(f"{target}: the namespace's quota does not allow it: {found['why']}")
    if found := _FORBIDDEN.search(said):
        return _cut(
            f"{target}: you lack the right to {found['verb']} {found['resource']}; ask for it ({said})"
        )
    return _cut(f"{target}: the cluster refused: {said}")


def is_gone(said: str) -> bool:
    """True when the server says that the object itself is not there."""
    return bool(re.search(r'"[^"]+" not found', said)) and "namespaces" not in said


def _cut(sentence: str) -> str:
    return sentence if len(sentence) <= _LONGEST else f"{sentence[: _LONGEST - 1].rstrip()}…"
