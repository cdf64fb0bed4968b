"""The same offer with one less: a node, a GPU of quota, a GPU or member that the job gives up. By that the
job must not start."""

import json

import msgspec

from cockpit.model.finding import Change

_SIZES = ("--gpus", "--workers", "--to")


def lesser(change: Change) -> tuple[Change, ...]:
    """All steps, the one with a number with one less of it; () where it has none, or where one less of it
    is nothing."""
    steps = change.steps or (change,)
    made = [_less(one) for one in steps]
    if not any(made):
        return ()
    return tuple(less or one for less, one in zip(made, steps, strict=True))


def _less(change: Change) -> Change | None:
    if change.kind == "more_nodes":
        count, _, rest = change.words.partition(" ")
        return _with(change, words=f"{int(count) - 1} {rest}") if int(count) > 1 else None
    if change.kind == "raise_quota" and "--type=json" in change.command:
        return _less_quota(change)
    if change.kind in ("fewer_gpus", "fewer_members"):
        return _less_given_up(change)
    return None


def _less_quota(change: Change) -> Change | None:
    """One of the first resource less: offers name GPUs first."""
    operations = json.loads(change.command[-1])
    first = operations[0]
    if first["op"] != "replace":
        return None
    value = str(first["value"])
    number = int(value.removesuffix("m"))
    first["value"] = f"{number - 1}m" if value.endswith("m") else str(number - 1)
    return _with(change, command=(*change.command[:-1], json.dumps(operations)))


def _less_given_up(change: Change) -> Change | None:
    """Only where the job would still ask for less than it did: `4 GPUs instead of 8`."""
    at = next((at for at, one in enumerate(change.command) if one in _SIZES), -1) + 1
    before = int(change.words.partition(" instead of ")[2].split()[0])
    if not at or int(change.command[at]) + 1 >= before:
        return None
    number = str(int(change.command[at]) + 1)
    return _with(change, command=(*change.command[:at], number, *change.command[at + 1 :]))


def _with(change: Change, **fields: object) -> Change:
    return msgspec.structs.replace(change, **fields)


def rest_of(change: Change) -> tuple[Change, ...]:
    """What is left to do once all steps were done with one less: the node that lacks, the quota, the size."""
    found: list[Change] = []
    for one in change.steps or (change,):
        if _less(one) is not None:
            words = one.words.partition(" ")[2]
            found.append(_with(one, words=f"1 {words}") if one.kind == "more_nodes" else one)
    return tuple(found)
