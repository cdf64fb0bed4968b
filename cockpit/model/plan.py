"""Changes of the world as values: calls and the plan that a person confirms."""

from collections.abc import Mapping
from typing import Any

import msgspec

from cockpit.model.contender import Contender
from cockpit.model.lease import Lease
from cockpit.model.refusal import Refusal
from cockpit.model.remembered import Reclaim


class Replaced(msgspec.Struct, frozen=True, kw_only=True):
    """An object that is gone before the call that takes its place is sent."""

    path: str  # below the API server
    uid: str
    target: str  # "job team-a/fit": what a person calls it


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One request to the API server, as data. `path` starts with /api or /apis, without the host.

    `via` names who else sends it, "" for the API server: method, path and body are then that sender's words.

    `body` is a tree of dicts, lists and scalars; `content_type` says how a patch is meant. A delete
    carries its preconditions in the body, a patch `metadata.uid` and `metadata.resourceVersion`.
    """

    method: str  # POST, PATCH, DELETE, PUT
    path: str
    body: Any = None
    content_type: str = "application/json"
    query: tuple[tuple[str, str], ...] = ()
    target: str = ""  # "mpijob team-a/llm": what a person calls it
    kubectl: tuple[str, ...] = ()
    """What kubectl calls it before the name (`cordon`), where it has a verb for this call."""
    via: str = ""
    fields_at_risk: tuple[tuple[str, str], ...] = ()
    """Fields of the body that a server with a feature gate off drops without a word, each with the sentence
    for that: what was stored is compared."""
    replaces: tuple[Replaced, ...] = ()
    """What it takes the place of. It is sent once that is gone. Its dry run, for which the name is still
    taken, is passed where nothing else is said: the API server looks at the name last."""
    request_id: str = ""
    """The Audit-ID under which it is sent: the API server's audit log has it also where no answer comes. ""
    leaves it to the server."""


class PoolLeaseHandle(msgspec.Struct, frozen=True, kw_only=True):
    """A change of a pool's size that is to be followed, and the Lease that keeps other cockpits from the pool
    meanwhile.

    The first call of its plan takes the Lease; it is renewed while the change goes on and released at its
    end. `path` is "" where this user may not take one.
    """

    pool: str  # as it was called then
    pool_key: str  # `Pool.key`: another pool may have taken the name
    to: int  # nodes
    path: str = ""  # of the Lease below the API server
    target: str = ""  # "lease default/gpu-cockpit-h100-1f2e3d4c": what a person calls it
    holder: str = ""  # user@host
    taken: str = ""  # acquire time in the Lease: the same holder may have acquired it again since
    is_brief: bool = False  # over with its plan: nothing is followed
    replaces: Lease | None = None
    """That of a change of the same holder that is in flight: its hold stands again where the deed is not
    done. Of a brief one the Lease as it was: it is again afterwards, but free."""


class AwaitedJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job that a drain waits for: over for it once none of these pods of the node is left."""

    name: str  # team-a/llm-7b
    pod_uids: tuple[str, ...]


class DrainOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What goes on once the node of a drain is cordoned: each eviction is sent when the jobs in `after` are
    over, and again while a disruption budget holds it."""

    node: str
    node_uid: str
    id: str  # as the node's annotation has it: without it the drain is over
    evictions: tuple[Call, ...]
    after: tuple[AwaitedJob, ...] = ()
    longest_seconds: float = 0.0  # timeout; 0: none


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A verb with everything that is shown before "yes"."""

    verb: str  # submit, kill, suspend, resume, scale, ...
    title: str  # "Kill mpijob team-a/llm"
    done: str = ""  # "Killed mpijob team-a/llm": what is told once it is done
    calls: tuple[Call, ...]
    lines: tuple[str, ...] = ()  # what will happen, one sentence a line
    expects: tuple[str, ...] = ()
    """What is foreseen: told and not confirmed, for it moves on while a person reads."""
    brief: str = ""
    """What is told of it, named, where it is one of many; "" where its name says enough."""
    warnings: tuple[str, ...] = ()
    shell: str = ""  # the command line that would do the same
    is_destructive: bool = False
    typed: str = ""
    """What a person types where yes is not enough: the name of what would be lost."""
    goes_on: DrainOrder | None = None
    later: tuple[Call, ...] = ()
    """What follows once the nodes that `calls` cordon have settled: planned again then, and sent only if it
    is still the same; otherwise the nodes are uncordoned."""
    is_whole: bool = False
    """The calls belong together (a gang of bare pods): all are tried dry before the first is sent, and a
    refusal of one does not keep the others from being sent."""
    gives_back: tuple[Reclaim, ...] = ()
    """Nodes it reclaims once it is done: stored on this host."""
    hold: PoolLeaseHandle | None = None
    """The Lease that the first call acquires; it is released where a later call is refused."""
    keeps: Mapping[str, Any] | None = None
    """The manifest by which what it deletes can be created again: it is on this host before anything is
    sent."""
    contends: tuple[Contender, ...] = ()
    """Jobs that ask for GPUs by it as they did not before."""
    former: tuple[str, ...] = ()
    """Options of the same verb that set again what is so before it, where the verb has no opposite."""
    undo: str = ""
    """The command line that takes it back, for the audit line; "" where none does."""
    foretold: str = ""
    """What it was computed to do to other jobs, for the audit line; "" where it does nothing to them."""

    @property
    def told(self) -> tuple[str, ...]:
        """All that a person reads of what will happen."""
        return (*self.lines, *self.expects)

    @property
    def deeds(self) -> tuple[Call, ...]:
        """The calls that do what was asked for: without the one that takes the hold."""
        return self.calls[1:] if self.hold is not None and self.hold.path else self.calls


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a plan. `state`: done, refused, failed (not done), unchanged, unknown (the server did
    not say, and no read settles it); of a dry run also untried, where the server could not make one."""

    state: str
    sentence: str
    audit_id: str = ""
    refusal: Refusal | None = None
    """Of a refused or untried one: what the server said."""
    is_moved: bool = False
    """Refused for nothing but the version: the object is newer than the plan, and nothing was done."""
    is_cut: bool = False
    """Nothing answers any more: what else is sent would meet the same."""
    server_audit_id: str = ""
    """Of the last call: the server's Audit-Id, "" where it gave none."""
    warnings: tuple[str, ...] = ()
    """What a person has to know although it is done, a sentence each."""
    goes_on: DrainOrder | None = None
    """Set on a completed plan: the drain that continues in the background."""
    gives_back: tuple[Reclaim, ...] = ()
    """Set on a completed plan: the nodes that were reclaimed."""
    hold: PoolLeaseHandle | None = None
    """Set on a completed plan: the Lease to renew until the operation has finished."""

    @property
    def is_done(self) -> bool:
        return self.state == "done"
