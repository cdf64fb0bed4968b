"""A ResourceQuota that keeps pods from being made: more of it, or a job that is content with what is left."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from cockpit.fit.remedies import with_gpus
from cockpit.fit.shape import Part
from cockpit.fit.what_if import WhatIf
from cockpit.gangs.sentence import counted
from cockpit.k8s.gpu_resources import is_gpu_resource, resource_word
from cockpit.k8s.quantity import amounts_of
from cockpit.triage.changes.offer import MONEY, OWN_SIZE, ChangeOffer, ChangeOffers, Desk, cockpit, short
from cockpit.triage.verdict import Change, Subject

_REQUESTS: Final = "requests."
_BARE: Final = ("cpu", "memory", "pods")


class Lack(NamedTuple):
    """What one line of a quota lacks; amounts in base units. `line` is as it stands in spec.hard."""

    quota: str
    line: str
    resource: str
    hard: int
    left: int
    asked: int


def lacks(quotas: Sequence[Mapping[str, Any]], parts: Sequence[Part]) -> tuple[Lack, ...] | None:
    """Every line that the pods exceed; None where a quota counts what a shape does not tell (limits,
    scopes)."""
    asked: dict[str, int] = {"pods": sum(one.count for one in parts)}
    for part in parts:
        for name, each in part.shape.requests:
            asked[name] = asked.get(name, 0) + each * part.count
    found = []
    for tree in quotas:
        spec, status = tree.get("spec") or {}, tree.get("status") or {}
        if spec.get("scopes") or spec.get("scopeSelector"):
            return None
        hard, used = _amounts(spec.get("hard")), _amounts(status.get("used"))
        for line, (resource, most) in hard.items():
            if not resource:
                return None
            left = max(0, most - used.get(line, (resource, 0))[1])
            if asked.get(resource, 0) > left:
                name = str(tree["metadata"]["name"])
                found.append(Lack(name, line, resource, most, left, asked[resource]))
    return tuple(found)


def _amounts(lines: Any) -> dict[str, tuple[str, int]]:
    """Line -> (resource, amount); resource "" for a line that no request of a pod counts in."""
    found: dict[str, tuple[str, int]] = {}
    for line, text in lines.items() if isinstance(lines, Mapping) else ():
        resource = line.removeprefix(_REQUESTS)
        if line == resource and line not in _BARE:
            if line.startswith("count/") or "." not in line:
                continue  # numbers of other objects
            found[line] = ("", 0)
            continue
        found[line] = (resource, amounts_of({resource: text}).get(resource, 0))
    return found


def namespace_quota(desk: Desk) -> ChangeOffers:
    """ChangeOffers where exactly one line of a quota is short."""
    space = desk.wanted.namespace
    quotas = desk.view.trees.get(("ResourceQuota", space), ())
    short_of = lacks(quotas, desk.wanted.parts)
    if short_of is None or len(short_of) != 1:
        return
    (lack,) = short_of
    needed = lack.hard + lack.asked - lack.left
    amount = f"{needed}m" if lack.resource == "cpu" else str(needed)
    patch = json.dumps({"spec": {"hard": {lack.line: amount}}})
    what = resource_word(lack.resource)
    change = Change(
        kind="raise_quota",
        words=f"raise quota {short(lack.quota)} of {short(space)} from {_shown(lack, lack.hard)} to"
        f" {_shown(lack, needed)} {what}",
        command=("kubectl", "patch", "resourcequota", lack.quota, "-n", space, "--type=merge", "-p", patch),
        target=Subject("quota", space, lack.quota),
    )
    yield ChangeOffer(
        MONEY + (needed - lack.hard if is_gpu_resource(lack.resource) else 1), change, desk.base
    )
    yield from _less(desk, quotas, lack)


def _shown(lack: Lack, amount: int) -> str:
    if lack.resource == "cpu":
        return f"{amount / 1000:g}"
    return f"{amount / (1 << 30):g} GiB of" if lack.resource == "memory" else str(amount)


def _less(desk: Desk, quotas: Sequence[Mapping[str, Any]], lack: Lack) -> ChangeOffers:
    """The largest size of each member with which all are within the quota."""
    if not is_gpu_resource(lack.resource) or len(desk.wanted.parts) != 1:
        return
    (part,) = desk.wanted.parts
    each = min(part.shape.gpus - 1, lack.left // part.count)
    if each < 1 or part.shape.gpu_resource != lack.resource:
        return
    less = Part(part.role, part.count, with_gpus(part.shape, each))
    if lacks(quotas, (less,)):
        return
    members = f" for each of its {counted(part.count, part.role)}" if part.count > 1 else ""
    change = Change(
        kind="fewer_gpus",
        words=f"{each} {resource_word(lack.resource, each)} instead of {part.shape.gpus}{members}",
        verb="job.clone",
        command=cockpit("job.clone", desk.name, "--gpus", str(each)),
        target=desk.wanted.subject,
    )
    then: WhatIf = msgspec.structs.replace(desk.base, parts=(less,))
    yield ChangeOffer(OWN_SIZE + (part.shape.gpus - each) * part.count, change, then)
