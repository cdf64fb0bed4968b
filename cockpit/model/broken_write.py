"""What a cockpit began and did not end: its process was killed between the two lines of the audit log."""

import msgspec


class BrokenWrite(msgspec.Struct, frozen=True, kw_only=True):
    """A write without an end. `effect` is what the cluster says became of it: applied, not applied, cannot be
    told; `why` says for the last what stands in the way. `done` of `calls` calls of its plan were carried out
    before it, or all that were sent, where it was killed between two (`is_between`)."""

    audit_id: str
    verb: str
    target: str
    at_seconds: float  # epoch, of this host's clock
    method: str
    path: str
    effect: str
    why: str = ""
    shell: str = ""
    done: int = 0
    calls: int = 0
    is_between: bool = False


class EndedDrain(msgspec.Struct, frozen=True, kw_only=True):
    """A drain whose cockpit ended without it."""

    node: str
    at_seconds: float  # epoch, of this host's clock, when it was begun
