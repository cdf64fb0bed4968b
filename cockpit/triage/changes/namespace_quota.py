"""A ResourceQuota that keeps pods from being made: more of it, or a job that is content with what is left."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from cockpit.fit.remedies import with_gpus
from cockpit.fit.shape import Part
from cockpit.gangs.wording import short
from cockpit.k8s.gpu_resources import is_gpu_resource, resource_word
from cockpit.k8s.kubectl import merge_patch
from cockpit.k8s.quantity import amounts_of
from cockpit.model.finding import Finding, Subject
from cockpit.triage.changes.job_edits import fewer_gpus
from cockpit.triage.changes.offer import MONEY, ChangeOffers, Desk, amount_text, made

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


def namespace_quota(desk: Desk, blocker: Finding) -> ChangeOffers:
    """More of every line of a quota that is short, or where it is one, less of what is asked for."""
    space = desk.wanted.namespace
    quotas = desk.view.trees.get(("ResourceQuota", space), ())
    short_of = lacks(quotas, desk.wanted.parts)
    if not short_of or len({one.quota for one in short_of}) != 1:
        return
    lack = short_of[0]
    needed = {one.line: one.hard + one.asked - one.left for one in short_of}
    hard = {one.line: _quantity(one.resource, needed[one.line]) for one in short_of}
    words = " and ".join(
        f"from {_amount(one, one.hard)} to {_amount(one, needed[one.line])} {resource_word(one.resource)}"
        for one in short_of
    )
    tree = next(one for one in quotas if one["metadata"]["name"] == lack.quota)
    spec = {**tree["spec"], "hard": {**tree["spec"]["hard"], **hard}}
    more = sum(one.asked - one.left if is_gpu_resource(one.resource) else 1 for one in short_of)
    yield made(
        desk,
        MONEY + more,
        "raise_quota",
        f"raise quota {short(lack.quota)} of {short(space)} {words}",
        merge_patch(("resourcequota", lack.quota, "-n", space), {"spec": {"hard": hard}}),
        target=Subject("quota", space, lack.quota),
        trees=({**tree, "kind": "ResourceQuota", "spec": spec},),
    )
    if len(short_of) == 1:
        yield from _less(desk, quotas, lack)


def _quantity(resource: str, amount: int) -> str:
    return f"{amount}m" if resource == "cpu" else str(amount)


def _amount(lack: Lack, amount: int) -> str:
    return amount_text(lack.resource, amount) + (" of" if lack.resource == "memory" else "")


def _less(desk: Desk, quotas: Sequence[Mapping[str, Any]], lack: Lack) -> ChangeOffers:
    """The largest size of each member with which all are within the quota."""
    if not is_gpu_resource(lack.resource) or len(desk.wanted.parts) != 1:
        return
    (part,) = desk.wanted.parts
    each = min(part.shape.gpus - 1, lack.left // part.count)
    if each < 1 or part.shape.gpu_resource != lack.resource:
        return
    less = Part(part.role, part.count, with_gpus(part.shape, each))
    if not lacks(quotas, (less,)):
        yield fewer_gpus(desk, part, less)
