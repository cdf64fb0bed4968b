"""A fit answer in plain words: one sentence for a narrow place, lines for a form."""

from cockpit.fit.gang import FitAnswer, PartFit
from cockpit.fit.pod_sets import ONLY_ROLE, ManifestPods, PodsAsked, UnknownNumber
from cockpit.fit.preemption import Push
from cockpit.fit.quota import Shortage
from cockpit.k8s.gpu_resources import is_gpu_resource, resource_word

_NAMED_JOBS = 3
_NAMED_NODES = 6
_MOST_REMEDIES = 4
_MIB = 1 << 20


def asked_lines(asked: PodsAsked) -> list[str]:
    """What a manifest asks for: a line for each set of pods, and the GPUs of all. Unknown is never zero."""
    lines = [_set_words(item) for item in asked.sets]
    if asked.gpus is not None:
        return [*lines, f"{asked.gpus} GPU{'s' * (asked.gpus != 1)} in total"]
    least = f", at least {asked.gpus_at_least}" if asked.gpus_at_least else ""
    return [*lines, f"GPUs in total unknown{least}: {unknown_words(asked)}"]


def _set_words(one: ManifestPods) -> str:
    if one.replicas is None:
        pods = f"an unknown number of {one.role} pods"
    else:
        pods = f"{one.replicas} {one.role} pod{'s' * (one.replicas != 1)}"
    if one.gpus_each is None:
        return f"{pods} x unknown GPUs"
    if not one.gpus_each:
        return f"{pods} without GPUs"
    return f"{pods} x {one.gpus_each} GPU{'s' * (one.gpus_each != 1)}"


def unknown_words(asked: PodsAsked) -> str:
    """Why pods or GPUs of a manifest cannot be counted, "" where they can."""
    match asked.unknown:
        case UnknownNumber.NO_TEMPLATE:
            return "the manifest has no pod template"
        case UnknownNumber.RUNTIME:
            return "what the manifest leaves open is set by its training runtime"
        case UnknownNumber.COUNT:
            return f"the manifest does not say how many {asked.role} pods it makes"
        case UnknownNumber.DEVICES:
            return f"the manifest does not count the devices of {asked.role} pods"
        case UnknownNumber.CLAIMS:
            return f"{asked.role} pods ask for devices by claim (DRA), which only the scheduler can place"
        case UnknownNumber.ELSEWHERE:
            return "the manifest asks for devices outside its pod templates"
    return ""


def fit_sentence(answer: FitAnswer) -> str:
    """Fits now and where, or what is missing and the smallest change that would help."""
    if not answer.wanted:
        return "nothing requested"
    if answer.missing == 0:
        if answer.shortage is not None:
            return f"pending: {shortage_words(answer.shortage)}"
        count = len(answer.places)
        where = f"on node {answer.places[0][0]}" if count == 1 else f"on {count} nodes"
        if answer.is_sure:
            return f"fits now {where}"
        return f"may fit now {where}: it depends on which node the scheduler takes first"
    text = f"pending: {need_words(answer)}"
    return f"{text}; would start if: {answer.remedies[0].words}" if answer.remedies else text


def need_words(answer: FitAnswer) -> str:
    """What it needs on nodes and how much of that is free."""
    main = answer.parts[answer.main]
    each, resource, pieces = answer.shape.gpus, answer.shape.gpu_resource, answer.pieces
    room = f"room for {answer.wanted - answer.missing} of {answer.wanted} members"
    if not each:
        return room
    unit = resource_word(resource)
    if not pieces.matching_nodes:
        return "no node advertises a GPU" if unit == "GPUs" else f"no node advertises {unit}"
    total = each * main.part.count
    text = f"needs {total} {resource_word(resource, total)} as {main.part.count} x {each}"
    text = f"{text}, {pieces.free_gpus} free"
    if pieces.largest_block < each:
        return f"{text}, largest free block {pieces.largest_block}"
    return f"{text}, {room}"


def fit_lines(answer: FitAnswer) -> list[str]:
    """The sentence, and below it why, what would help, what is possible today and whom it would cost."""
    lines = [fit_sentence(answer)]
    if answer.missing == 0:
        lines += [f"  {place_words(answer)}"] if len(answer.places) > 1 else []
        return lines + [f"  {note}" for note in answer.notes]
    lines += [f"  {line}" for line in room_lines(answer)]
    if answer.shortage is not None:
        lines.append(f"  {shortage_words(answer.shortage)}")
    if len(answer.remedies) > 1:
        others = [item.words for item in answer.remedies[1:_MOST_REMEDIES]]
        lines.append(f"  or: {'; or '.join(others)}")
    if answer.push is not None:
        lines.append(f"  {push_words(answer.push)}")
    return lines + [f"  {note}" for note in answer.notes]


def room_lines(answer: FitAnswer) -> list[str]:
    """Why members find no node, and the largest gang that would."""
    reasons = [f"{count} node{'s' * (count != 1)} {why}" for why, count in answer.pieces.obstacles]
    missed = [part for part in answer.parts if part.missing]
    lines = []
    for item in missed:
        text = f"no room for {_members(item)}"
        lines.append(f"{text}: {', '.join(reasons)}" if reasons else text)
        reasons = []
    each, resource = answer.shape.gpus, answer.shape.gpu_resource
    if answer.largest:
        size = f"{answer.largest} x {each} {resource_word(resource, each)}" if each else str(answer.largest)
        lines.append(f"largest such gang today: {size}")
    scattered = answer.pieces.scattered_gpus
    if scattered and each > 1:
        what = resource_word(resource, scattered)
        lines.append(f"{scattered} free {what} are fragmented: no node has {each} free")
    return lines


def _members(item: PartFit) -> str:
    """`its only launcher`, `2 of 4 workers`."""
    role = "pod" if item.part.role == ONLY_ROLE else item.part.role
    count = item.part.count
    return f"{item.missing} of {count} {role}s" if count > 1 else f"its only {role}"


def place_words(answer: FitAnswer) -> str:
    """Which members go where: `gpu-1 x 4, gpu-2 x 4`."""
    named = [f"{node} x {count}" for node, count in answer.places[:_NAMED_NODES]]
    more = len(answer.places) - _NAMED_NODES
    return ", ".join(named) + (f" and {more} more nodes" if more > 0 else "")


def shortage_words(short: Shortage) -> str:
    """What a queue's quota lacks."""
    if short.words:
        return short.words
    what = resource_word(short.resource)
    if not short.flavor:
        return f"queue {short.queue} has no quota for {what}"
    asked, left = _amount(short.resource, short.asked), _amount(short.resource, short.left)
    return f"queue {short.queue} has {left} of the {asked} {what} left (flavor {short.flavor})"


def _amount(resource: str, count: int) -> str:
    if resource == "cpu":
        return f"{count / 1000:g}"
    if is_gpu_resource(resource) or resource == "pods" or count < _MIB:
        return str(count)
    return f"{count / _MIB / 1024:.1f} GiB"


def push_words(push: Push) -> str:
    """Whom it would cost."""
    pods = f"{len(push.victims)} pod{'s' * (len(push.victims) != 1)}"
    jobs = ", ".join(push.jobs[:_NAMED_JOBS]) + (", ..." if len(push.jobs) > _NAMED_JOBS else "")
    text = f"by its priority it would preempt {pods} of {jobs} for {push.members} of its members"
    if push.protected:
        text += f", {push.protected} of them against a disruption budget"
    return text if push.knows_budgets else f"{text}; disruption budgets were not checked"
