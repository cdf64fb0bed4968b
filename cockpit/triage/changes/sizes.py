"""A job that asks for less: fewer GPUs for each member, or fewer members."""

from cockpit.fit.quota import asked_of
from cockpit.fit.shape import Part
from cockpit.gangs.sentence import counted
from cockpit.k8s.gpu_resources import resource_word
from cockpit.triage.changes.in_line import turn_of
from cockpit.triage.changes.offer import OWN_SIZE, ChangeOffer, ChangeOffers, Desk, made, member_word


def fewer_gpus(desk: Desk, part: Part, less: Part) -> ChangeOffer:
    """With fewer GPUs for each member of a part."""
    each, before = less.shape.gpus, part.shape.gpus
    words = f"{each} {resource_word(part.shape.gpu_resource, each)} instead of {before}"
    if part.count > 1:
        words += f" for each of its {counted(part.count, member_word(part.role))}"
    cost = OWN_SIZE + (before - each) * part.count
    command = (desk.name, "--gpus", str(each))
    return made(desk, cost, "fewer_gpus", words, command, verb="job.clone", parts=_with(desk, part, less))


def fewer_members(desk: Desk, part: Part, less: Part) -> ChangeOffer:
    """With fewer members of a part; those that have a node stay."""
    job = desk.wanted.job
    there = 0 if job is None or job.wanted is None else max(0, job.wanted - part.count)
    after = there + less.count
    # only these kinds may change their size after creation without being elastic (jobs' own rules)
    is_job = job is not None and job.kind == "Job" and job.api_version == "batch/v1"
    resizes = is_job and bool(desk.wanted.pods)
    flag = ("--to", str(after)) if resizes else ("--workers", str(after))
    words = f"{counted(after, member_word(part.role))} instead of {there + part.count}"
    cost = OWN_SIZE + (part.count - less.count) * max(1, part.shape.gpus)
    verb = "job.scale" if resizes else "job.clone"
    return made(
        desk, cost, "fewer_members", words, (desk.name, *flag), verb=verb, parts=_with(desk, part, less)
    )


def _with(desk: Desk, part: Part, less: Part) -> tuple[Part, ...]:
    return tuple(less if one is part else one for one in desk.wanted.parts)


def smaller_for_quota(desk: Desk) -> ChangeOffers:
    """As many members as the queue's quota holds."""
    if desk.wanted.job is None or len(desk.wanted.parts) != 1 or desk.wanted.pods:
        return
    (part,) = desk.wanted.parts
    one = asked_of((Part(part.role, 1, part.shape),))
    turn = turn_of(desk, desk.base, is_last=True)
    lacks = [each for each in turn.lacks if one.get(each.resource) and not turn.behind]
    count = min((each.left // one[each.resource] for each in lacks if each.flavor), default=0)
    if 0 < count < part.count:
        yield fewer_members(desk, part, Part(part.role, count, part.shape))
