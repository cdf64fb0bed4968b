"""What owners outside the cluster have in common: their state is read on demand, and says how old it is.

An object that was not read has no sizes; one that could not be read says why in a condition `Read`. What
was read before stays, with its age.
"""

import shlex
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import msgspec

from cockpit.gangs.sentence import counted
from cockpit.model.node import Node
from cockpit.model.plan import Call
from cockpit.model.pool import Machine, PoolObject
from cockpit.model.reach import Outside, Reach
from cockpit.model.record import Condition, Kind, condition
from cockpit.model.right import Ways
from cockpit.model.store_reader import StoreReader
from cockpit.pools.failure_classes import Classed, classed
from cockpit.pools.owner import (
    Capability,
    FailureClass,
    HasMachines,
    Nodes,
    Ownership,
    PoolFailure,
    ReadsOutside,
    SetsSize,
    guarded,
    in_order,
    refused,
    target_of,
    through,
)

READ = "Read"  # type of the condition that says why the pool could not be read, or not again
STATUS = "Status"
ACTIVITIES = "Activities"  # of the one that says why launches could not be read; the pool itself was


class OutsideOwner(ReadsOutside, SetsSize, HasMachines):
    """An owner whose pools are no objects of the cluster. `who` names it in sentences."""

    how: ClassVar[str]
    what: ClassVar[str]
    """A pool of its own, in a word: `an EKS node group`."""
    api_kind: ClassVar[str]

    def reach(self, pool: str, nodes: Nodes, outside: Outside) -> Reach | None:
        """How the pool of that name is read, from its nodes and what is configured; None where it is not
        ours."""
        raise NotImplementedError

    def unread(self, pool: str, nodes: Nodes, outside: Outside) -> PoolObject | None:
        """By its reach."""
        reach = self.reach(pool, nodes, outside)
        if reach is None:
            return None
        return PoolObject(
            uid=reach.path if reach.pool else f"{reach.path}/{pool}",
            name=reach.pool or pool,
            api_version=self.traits.stands_for,
            kind=self.api_kind,
            resource_path=reach.path.rpartition("/")[0],
            reach=reach,
        )

    # ---- who decides

    def who(self, found: PoolObject | None) -> str:
        """As sentences name whoever runs the machines."""
        return _who(found)

    def ownership(self, found: PoolObject | None, nodes: Nodes, truth: StoreReader) -> Ownership:
        """What was read last; not asked and not read are answers of their own."""
        if found is None or found.read_seconds is None:
            not_known = self._not_read(found)
            return Ownership(owner=self.traits.name, may_resize=not_known, may_limit=not_known)
        return Ownership(
            owner=self.traits.name,
            minimum=found.min_replicas,
            maximum=found.max_replicas,
            may_resize=self.may_resize(found),
            may_limit=self.may_limit(found),
            may_remove=self.may_remove(found),
            read_seconds=found.read_seconds,
        )

    def _not_read(self, found: PoolObject | None) -> Capability:
        trouble = condition(found.conditions, READ) if found is not None else None
        if trouble is None:
            return Capability(None, f"{self.what}: {self.who(found)} has not been asked for it yet")
        return refused(_told(self.who(found), trouble).whole)

    def may_resize(self, found: PoolObject) -> Capability:
        """Whether the number of nodes can be set; of a pool that was read."""
        return through(self.how)

    def may_limit(self, found: PoolObject) -> Capability:
        """Whether the maximum can be changed."""
        return through(self.how)

    def may_remove(self, found: PoolObject) -> Capability:
        """Whether nodes of our choice can go."""
        return refused(f"{self.who(found)} chooses which machines go")

    # ---- what is on its way

    def machines(self, found: PoolObject | None, nodes: Nodes, truth: StoreReader) -> tuple[Machine, ...]:
        """Those that were read with the pool, each with its node where that has joined."""
        if found is None:
            return ()
        by_instance = {instance_of(one): one for one in nodes if one.provider_id}
        mine = [
            one
            for one in truth.records(Kind.MACHINE).values()
            if isinstance(one, Machine) and one.resource_path and one.uid.startswith(f"{found.uid}/")
        ]
        return in_order(_joined(one, by_instance.get(one.name)) for one in mine)

    def failures(
        self, found: PoolObject | None, nodes: Nodes, truth: StoreReader, now_seconds: float
    ) -> tuple[PoolFailure, ...]:
        """What the owner finds wrong. That it could not be read is no reason why machines do not come."""
        if found is None:
            return ()
        bad = [one for one in found.conditions if one.status == "False" and _is_failure(one)]
        return tuple(self._failure(found, one) for one in bad)

    def _failure(self, found: PoolObject, one: Condition) -> PoolFailure:
        told = classed(one.reason, one.message)  # said to whoever makes the machines, not to us
        return PoolFailure(
            kind=told.kind,
            sentence=told.sentence,
            remedy=told.remedy,
            source=f"{target_of(found)}, {one.type.lower()}",
            said=one.message,
            code=one.reason,
            since_seconds=one.changed_seconds,
        )

    # ---- what would be sent

    def resize_rights(self, found: PoolObject) -> Ways:
        """It is not the cluster that allows it."""
        return ()

    def limit_rights(self, found: PoolObject) -> Ways:
        """As of a resize."""
        return ()

    def call(self, found: PoolObject, method: str, argv: Sequence[str], **body: Any) -> Call:
        """One call outside: `argv` is the line that a person could type for it."""
        if found.reach is None:
            raise TypeError(f"{target_of(found)} has no way to be reached")
        return Call(
            via=found.reach.service,
            method=method,
            path=found.reach.path,
            target=target_of(found),
            body={
                "metadata": guarded(found),
                "reach": msgspec.to_builtins(found.reach),
                "argv": list(argv),
                **body,
            },
        )


class OutsideWord(NamedTuple):
    """What was read of a pool outside the cluster in a line; `at_seconds` is when (epoch)."""

    who: str
    text: str
    at_seconds: float | None


def outside_word(found: PoolObject | None) -> OutsideWord | None:
    """How the pool stands as its owner says, or why it could not be read. None for a pool of the cluster, and
    for one that nobody asked for."""
    if found is None or found.reach is None:
        return None
    who = _who(found)
    trouble = condition(found.conditions, READ)
    said = [_told(who, trouble).whole] if trouble is not None else []
    if found.read_seconds is not None:
        status = condition(found.conditions, STATUS)
        state = status.reason if status is not None and status.reason else "read"
        size = "size not told" if found.replicas is None else f"{counted(found.replicas, 'node')} wanted"
        said.insert(0, f"{state}, {size}")
    at_seconds = found.read_seconds if trouble is None else trouble.changed_seconds
    return OutsideWord(who, "; not read again: ".join(said), at_seconds) if said else None


def _told(who: str, one: Condition) -> Classed:
    return classed(one.reason, one.message, who=who)


def _who(found: PoolObject | None) -> str:
    commands = found.reach.commands if found is not None and found.reach is not None else None
    return commands.who if commands is not None else "AWS"


def _is_failure(one: Condition) -> bool:
    if one.type == STATUS:
        return (
            bool(one.message) or one.reason.lower().endswith("failed") or one.reason in ("DEGRADED", "ERROR")
        )
    return one.type not in (ACTIVITIES, READ)


def instance_of(node: Node) -> str:
    """The id of the machine behind a node of AWS: the last part of `aws:///zone/i-...`."""
    return node.provider_id.rpartition("/")[2] if node.provider_id.startswith("aws://") else ""


def region_of(nodes: Nodes) -> str:
    """The region that the zone of a machine of AWS is in: `eu-west-1` of `aws:///eu-west-1a/i-...`; ""
    unknown.

    A local zone is named after the region that it belongs to (`us-west-2-lax-1a`).
    """
    for node in nodes:
        zone = node.provider_id.removeprefix("aws:///").partition("/")[0]
        parts = zone.split("-") if node.provider_id.startswith("aws:///") else []
        number = next((at for at, part in enumerate(parts) if part[:1].isdigit()), None)
        if number:
            return "-".join((*parts[:number], parts[number].rstrip("abcdefghijklmnopqrstuvwxyz")))
    return ""


def aws_line(reach: Reach, *words: str) -> list[str]:
    """`aws eks ...` with region and profile, as a person could type it."""
    more = [
        *(["--region", reach.region] if reach.region else []),
        *(["--profile", reach.profile] if reach.profile else []),
    ]
    return ["aws", *words, *more]


def line_of(call: Call) -> str:
    """The command line of a call outside the cluster."""
    return shlex.join(call.body["argv"])


def _joined(machine: Machine, node: Node | None) -> Machine:
    if node is None:
        return machine
    return msgspec.structs.replace(
        machine,
        node=node.name,
        provider_id=node.provider_id,
        instance_type=node.instance_type,
        joined_seconds=node.created_seconds,
    )


__all__ = ["FailureClass", "OutsideOwner", "aws_line", "instance_of", "line_of", "region_of"]
