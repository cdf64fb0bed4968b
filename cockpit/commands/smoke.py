"""`cockpit job smoke NODE`: a pod on the node lists its cards; pass or fail, and nothing is left over."""

import argparse
import asyncio
import re
from typing import TYPE_CHECKING, Any

from cockpit.actions.submit import plan_submit
from cockpit.clock import Clock, SystemClock
from cockpit.commands.ask import confirm_and_carry, refuse_without_right
from cockpit.commands.choose import attach_options, settings_in_force
from cockpit.commands.job import open_for, served_lookup, values_given
from cockpit.commands.paper import note, put
from cockpit.errors import CockpitError, Refused
from cockpit.jobs.parameters import read
from cockpit.jobs.smoke import SmokeVerdict, judge
from cockpit.jobs.template import Template, load_library
from cockpit.kube.resource import JOBS, NODES, PODS
from cockpit.model.plan import Call, Plan

if TYPE_CHECKING:
    from cockpit.kube.session import Session

TEMPLATE = "smoke-test"
POLL_SECONDS = 1.0
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
        if (await session.request("GET", NODES.path(name=options.node))).status == 404:
            raise Refused(f"there is no node {options.node}; see cockpit get nodes")
        code = await confirm_and_carry(plan, options, session, clock)
        if options.dry_run or code or not await _is_there(session, plan):
            return code
        verdict, lines = await watch(template, values, session, clock, plan)
        put(lines)
        put([f"{'pass' if verdict.is_pass else 'FAIL'}: node {options.node}: {verdict.sentence}"])
        return 0 if verdict.is_pass else 1
    finally:
        await session.close()


async def watch(
    template: Template, values: dict[str, str], session: "Session", clock: Clock, plan: Plan
) -> tuple[SmokeVerdict, list[str]]:
    """Wait for the end, read the log, judge it, and take the Job away, whatever happens.

    Raises NoConnection when the cluster does not answer any more.
    """
    metadata = plan.calls[0].body["metadata"]
    namespace, name = metadata["namespace"], metadata["name"]

    def value(field: str) -> Any:
        parameter = template.parameter(field)
        if parameter is None:
            return None
        return read(parameter, values.get(field, "") or parameter.default or "")

    try:
        pod = await _ended_pod(session, clock, namespace, name, int(value("deadline") or 300))
        if pod is None:
            sentence = "no pod was made in time"
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
        await _clean_up(session, namespace, name)


async def _is_there(session: "Session", plan: Plan) -> bool:
    metadata = plan.calls[0].body["metadata"]
    path = JOBS.path(metadata["namespace"], metadata["name"])
    return (await session.request("GET", path)).status == 200


async def _ended_pod(
    session: "Session", clock: Clock, namespace: str, name: str, deadline_seconds: int
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


async def _log(session: "Session", namespace: str, pod: dict[str, Any]) -> list[str]:
    from cockpit.kube.logs import follow

    try:
        name = pod["metadata"]["name"]
        return [line async for line in follow(session, namespace, name, is_following=False)]
    except Refused:
        return []


async def _clean_up(session: "Session", namespace: str, name: str) -> None:
    from cockpit.kube.calls import perform

    call = Call(
        method="DELETE",
        path=JOBS.path(namespace, name),
        body={"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"},
        target=f"job {namespace}/{name}",
    )
    try:
        await perform(session, call)
    except CockpitError as error:
        if (await session.request("GET", call.path)).status != 404:
            note([f"job {namespace}/{name} is left over: {error.sentence}"])
