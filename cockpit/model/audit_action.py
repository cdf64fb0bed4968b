"""One action in the audit log: what was asked, by whom, and its outcome."""

import msgspec


class AuditAction(msgspec.Struct, frozen=True, kw_only=True):
    """The lines of one audit id as one. `state` is the outcome (done, unchanged, refused, failed, unknown),
    "" where none was written: it goes on, or was broken off. `undo` is the command that takes it back, ""
    where none does."""

    audit_id: str
    at_seconds: float
    verb: str
    target: str
    who: str
    context: str
    server: str
    state: str
    sentence: str
    shell: str
    foretold: str
    undo: str
