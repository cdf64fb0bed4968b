"""`cockpit node smoke-test NODE`: a pod on the node lists its cards; pass or fail, and nothing is left."""

import argparse
import asyncio
import re
from typing import TYPE_CHECKING, Any

import msgspec

from cockpit.actions.kill import plan_take_away
from cockpit.actions.perform import AuditLog, carry_out
from cockpit.actions.submit import plan_submit
from cockpit.actions.verbs.node import rights_to_test
from cockpit.clock import Clock, SystemClock
from cockpit.commands.confirm import confirm_plan, refuse_without_right
from cockpit.commands.job import open_for, served_lookup, values_given
from cockpit.commands.output import note, put
from cockpit.commands.settings import attach_options, settings_in_force
from cockpit.errors import Refused
from cockpit.jobs.parameters import read
from cockpit.jobs.smoke import SmokeVerdict, judge
from cockpit.jobs.template import Template, load_library
from cockpit.kube.resource import JOBS, NODES, PODS
from cockpit.local_state.audit import Audit
from cockpit.model.plan import Plan
from cockpit.model.refusal import Remedy
from cockpit.model.right import cannot, lacking

if TYPE_CHECKING:
    from cockpit.kube.session import ApiSession

TEMPLATE = "smoke-test"
POLL_SECONDS = 1.0
TAKEN_AWAY = "the Job is deleted when it ends or times out"
"""What one says yes to besides making the Job."""
_ENDED = ("Succeeded", "Failed")


def run(options: argparse.Namespace) -> int:
    """Try one node: 0 when it passes, 1 when it fails."""
    settings = settings_in_force()
    template = load_library(settings.template_folders).named(TEMPLATE)
    values = {"node": options.node, "name": name_for(options.node), **values_given(options)}
    chosen = attach_options(options, settings)
    plan_submit(template, values, chosen.namespace)
    refuse_without_right(options, may_write=chosen.write)
    return asyncio.run(_run(template, values, options, chosen))


def name_for(node: str) -> str:
    """A name for the test's Job: that of the node as a DNS label."""
    tail = re.sub(r"[^a-z0-9-]+", "-", node.lower()).strip("-")
    return f"smoke-{tail}"[:52].rstrip("-")


async def _run(template: Template, values: dict[str, str], options: argparse.Namespace, chosen: Any) -> int:
    clock = SystemClock()
    session = await open_for(chosen, clock, options.timeout)
    try:
        lookup = await served_lookup(session)
        namespace = chosen.namespace or session.namespace
        plan = plan_submit(template, values, namespace, lookup=lookup, context=session.context)
        plan = msgspec.structs.replace(plan, lines=(*plan.lines, TAKEN_AWAY))
        if (await session.request("GET", NODES.path(name=options.node))).status == 404:
            raise Refused(f"there is no node {options.node}; see cockpit get nodes")
        await _refuse_without_rights(session, clock, plan.calls[0].body["metadata"]["namespace"])
        code = await confirm_plan(plan, options, session, clock)
        if options.dry_run or code:
            return code
        made = await _made(session, plan)
        if made is None:
            return code
        verdict, lines = await watch(template, values, session, clock, made, audit=Audit())
        put(lines)
        put([f"{'pass' if verdict.is_pass else 'FAIL'}: node {options.node}: {verdict.sentence}"])
        return 0 if verdict.is_pass else 1
    finally:
        await session.close()


async def _refuse_without_rights(session: "ApiSession", clock: Clock, namespace: str) -> None:
    """Raise Refused where a step of the test would be refused: a Job that cannot be deleted is left over."""
    from cockpit.kube.access_reviews import AccessReviews

    rights = rights_to_test(namespace)
    reviews = AccessReviews(session, clock.monotonic, lambda: None, sleep=lambda _: asyncio.sleep(0))
    reviews.want(rights)
    await reviews.ask_wanted()
    if missing := lacking((rights,), reviews.verdict):
        raise Refused(f"{cannot(missing[0])}, which the test needs; {Remedy.ASK_FOR_RIGHT.value}")


async def watch(
    template: Template,
    values: dict[str, str],
    session: "ApiSession",
    clock: Clock,
    made: dict[str, Any],
    *,
    audit: AuditLog,
) -> tuple[SmokeVerdict, list[str]]:
    """Wait for the end of the Job `made`, read the log, judge it, and take the Job away, whatever happens.

    Raises NoConnection when the cluster does not answer any more.
    """
    namespace, name = made["metadata"]["namespace"], made["metadata"]["name"]

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
        await _clean_up(session, clock, audit, made)


async def _made(session: "ApiSession", plan: Plan) -> dict[str, Any] | None:
    """The Job as it was made; None where the person said no, or it is already gone."""
    metadata = plan.calls[0].body["metadata"]
    answer = await session.request("GET", JOBS.path(metadata["namespace"], metadata["name"]))
    tree: dict[str, Any] | None = answer.json() if answer.status == 200 else None
    return tree


async def _ended_pod(
    session: "ApiSession", clock: Clock, namespace: str, name: str, deadline_seconds: int
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


async def _log(session: "ApiSession", namespace: str, pod: dict[str, Any]) -> list[str]:
    from cockpit.kube.logs import follow

    try:
        name = pod["metadata"]["name"]
        return [line async for line in follow(session, namespace, name, is_following=False)]
    except Refused:
        return []


async def _clean_up(session: "ApiSession", clock: Clock, audit: AuditLog, made: dict[str, Any]) -> None:
    """Delete the Job that was made, and no other one of its name."""
    metadata = made["metadata"]
    path = JOBS.path(metadata["namespace"], metadata["name"])
    plan = plan_take_away(made, path, context=session.context)
    outcome = await carry_out(plan, session, audit, clock)
    if outcome.state not in ("done", "unchanged"):
        note([f"{plan.calls[0].target} may be left over: {outcome.sentence}; to delete it: {plan.shell}"])
