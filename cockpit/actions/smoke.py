"""The smoke test of a node: its Job is watched, its log judged, and the Job taken away, whatever happens."""

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from cockpit.actions.execute.execute_plan import AuditLog, carry_out
from cockpit.actions.kill import plan_take_away
from cockpit.clock import Clock
from cockpit.errors import Refused
from cockpit.gangs.sentence import counted
from cockpit.jobs.parameters import read
from cockpit.jobs.template import Template
from cockpit.kube.logs import follow
from cockpit.kube.resource import JOBS, PODS
from cockpit.kube.session import ApiSession
from cockpit.model.plan import Plan

# ---- what its log says


# nvidia-smi -L: "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-...)"; rocm-smi and others print their own.
_CARD = re.compile(r"^GPU (\d+): (.+?)(?: \(UUID: ([^)]+)\))?$")
_TROUBLE = re.compile(
    r"ERR!|Unable to determine the device handle|GPU is lost|Unknown Error|NVML: |No devices were found"
    r"|couldn't communicate with the NVIDIA driver|Failed to initialize NVML|fallen off the bus",
    re.IGNORECASE,
)
# The last column of the template's query: uncorrected ECC errors since the driver was loaded.
_ECC = re.compile(r"^(\d+), [^,]+, [^,]+, [^,]+, (\d+)$")


class SmokeVerdict(NamedTuple):
    """`is_pass`, one sentence why, and the cards that answered, as the log names them."""

    is_pass: bool
    sentence: str
    cards: tuple[str, ...] = ()


def judge(
    lines: Sequence[str], *, exit_code: int | None, asked: int, is_own_command: bool = False
) -> SmokeVerdict:
    """Pass or fail. `exit_code` None: the container never ran. `asked` is how many cards it was given.

    A command of one's own is judged by its exit code and by the words of trouble alone.
    """
    cards = tuple(dict.fromkeys(found[2] for line in lines if (found := _CARD.match(line.strip()))))
    told = tuple(line.strip() for line in lines if _CARD.match(line.strip()))
    if exit_code is None:
        return SmokeVerdict(False, "it never ran", cards)
    trouble = next((line.strip() for line in lines if _TROUBLE.search(line)), "")
    if trouble:
        return SmokeVerdict(False, trouble, cards)
    if exit_code != 0:
        last = next((line.strip() for line in reversed(lines) if line.strip()), "it printed nothing")
        return SmokeVerdict(False, f"exit code {exit_code}: {last}", cards)
    if is_own_command:
        return SmokeVerdict(True, "the command succeeded", cards)
    if len(told) != asked:
        return SmokeVerdict(False, f"{len(told)} of {counted(asked, 'card')} answered", cards)
    for line in lines:
        found = _ECC.match(line.strip())
        if found is not None and int(found[2]):
            return SmokeVerdict(False, f"GPU {found[1]} counts {found[2]} uncorrected memory errors", cards)
    return SmokeVerdict(True, f"{len(told)} of {counted(asked, 'card')} answered: {', '.join(cards)}", cards)


TEMPLATE = "smoke-test"
POLL_SECONDS = 1.0
TAKEN_AWAY = "the Job is deleted when it ends or times out"
"""What one says yes to besides making the Job."""
_ENDED = ("Succeeded", "Failed")


def name_for(node: str) -> str:
    """A name for the test's Job: that of the node as a DNS label."""
    tail = re.sub(r"[^a-z0-9-]+", "-", node.lower()).strip("-")
    return f"smoke-{tail}"[:52].rstrip("-")


async def watch(
    template: Template,
    values: dict[str, str],
    session: ApiSession,
    clock: Clock,
    job: dict[str, Any],
    *,
    audit: AuditLog,
    told: Callable[[str], None] = lambda _line: None,
) -> tuple[SmokeVerdict, list[str]]:
    """Wait for the end of the Job, read the log, judge it, and take the Job away, whatever happens.

    `told` hears what may be left over. Raises NoConnection when the cluster does not answer any more.
    """
    namespace, name = job["metadata"]["namespace"], job["metadata"]["name"]

    def value(field: str) -> Any:
        parameter = template.parameter(field)
        if parameter is None:
            return None
        return read(parameter, values.get(field, "") or parameter.default or "")

    try:
        pod = await _ended_pod(session, clock, namespace, name, int(value("deadline") or 300))
        if pod is None:
            sentence = "no pod was created in time"
            return SmokeVerdict(False, sentence), []
        lines = await _log(session, namespace, pod)
        found = judge(
            lines,
            exit_code=_exit_code(pod),
            asked=int(value("gpus") or 1),
            is_own_command=bool(value("command")),
        )
        return (
            found if lines or found.is_pass else SmokeVerdict(False, why_not(pod) or found.sentence)
        ), lines
    finally:
        await _clean_up(session, clock, audit, job, told)


async def made(session: ApiSession, plan: Plan) -> dict[str, Any] | None:
    """The Job as it was made; None where the person said no, or it is already gone."""
    metadata = plan.calls[0].body["metadata"]
    answer = await session.request("GET", JOBS.path(metadata["namespace"], metadata["name"]))
    tree: dict[str, Any] | None = answer.json() if answer.status == 200 else None
    return tree


async def _ended_pod(
    session: ApiSession, clock: Clock, namespace: str, name: str, deadline_seconds: int
) -> dict[str, Any] | None:
    """The test's pod when it has ended, or as it is when the time is over; None where none was made."""
    until = clock.now() + deadline_seconds + 30.0
    found: dict[str, Any] | None = None
    while clock.now() < until:
        query = (("labelSelector", f"batch.kubernetes.io/job-name={name}"),)
        answer = await session.request("GET", PODS.path(namespace), query=query)
        items = answer.json().get("items") or [] if answer.status == 200 else []
        found = items[0] if items else found
        if items and items[0].get("status", {}).get("phase") in _ENDED:
            return found
        job = await session.request("GET", JOBS.path(namespace, name))
        if job.status == 404 or (job.status == 200 and not items and _has_failed(job.json())):
            return found
        await asyncio.sleep(POLL_SECONDS)
    return found


def _has_failed(job: dict[str, Any]) -> bool:
    conditions = job.get("status", {}).get("conditions") or []
    return any(one["type"] == "Failed" and one["status"] == "True" for one in conditions)


def _exit_code(pod: dict[str, Any]) -> int | None:
    for one in pod.get("status", {}).get("containerStatuses") or []:
        ended = one.get("state", {}).get("terminated")
        if ended is not None:
            code: int = ended.get("exitCode", 0)
            return code
    return None


def why_not(pod: dict[str, Any]) -> str:
    """Why the pod did not run: what its container or its scheduler says."""
    status = pod.get("status", {})
    for one in status.get("containerStatuses") or []:
        for state in (one.get("state") or {}).values():
            said = state.get("message") or state.get("reason")
            if said:
                return str(said)
    for one in status.get("conditions") or []:
        if one.get("status") == "False" and one.get("message"):
            return str(one["message"])
    return str(status.get("message") or "")


async def _log(session: ApiSession, namespace: str, pod: dict[str, Any]) -> list[str]:
    try:
        name = pod["metadata"]["name"]
        return [line async for line in follow(session, namespace, name, is_following=False)]
    except Refused:
        return []


async def _clean_up(
    session: ApiSession, clock: Clock, audit: AuditLog, made: dict[str, Any], told: Callable[[str], None]
) -> None:
    """Delete the Job that was made, and no other one of its name."""
    metadata = made["metadata"]
    path = JOBS.path(metadata["namespace"], metadata["name"])
    plan = plan_take_away(made, path, context=session.context)
    outcome = await carry_out(plan, session, audit, clock)
    if outcome.state not in ("done", "unchanged"):
        told(f"{plan.calls[0].target} may be left over: {outcome.sentence}; to delete it: {plan.shell}")
