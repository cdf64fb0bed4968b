"""`cockpit node smoke-test NODE`: a pod on the node lists its cards; pass or fail, and nothing is left."""

import argparse
import asyncio
from typing import TYPE_CHECKING, Any, cast

import msgspec

from cockpit.actions.form_rights import rights_to_test
from cockpit.actions.smoke import TAKEN_AWAY, TEMPLATE, made, name_for, watch
from cockpit.actions.submit import plan_submit
from cockpit.clock import Clock, SystemClock
from cockpit.commands.attached import WEIGHED_KINDS, attached
from cockpit.commands.confirm import confirm_plan, refuse_without_right
from cockpit.commands.job import values_given
from cockpit.commands.output import note, put
from cockpit.commands.patience import within
from cockpit.commands.settings import attach_options, audit_log, one_namespace, settings_in_force
from cockpit.commands.verb import planner
from cockpit.errors import Refused
from cockpit.jobs.template import Template, load_library
from cockpit.kube.access_reviews import AccessReviews
from cockpit.kube.resource import NODES
from cockpit.model.refusal import Remedy
from cockpit.model.right import cannot, lacking

if TYPE_CHECKING:
    from cockpit.kube.session import ApiSession


def run(options: argparse.Namespace) -> int:
    """Try one node: 0 when it passes, 1 when it fails."""
    settings = settings_in_force()
    template = load_library(settings.template_folders).named(TEMPLATE)
    values = {"node": options.node, "name": name_for(options.node), **values_given(options)}
    chosen = attach_options(options, settings)
    plan_submit(template, values, one_namespace(chosen))
    refuse_without_right(options, may_write=chosen.write)
    return asyncio.run(within(options.timeout, _run(template, values, options, chosen)))


async def _run(template: Template, values: dict[str, str], options: argparse.Namespace, chosen: Any) -> int:
    clock = SystemClock()
    async with attached(chosen, clock) as live:
        await live.settle(WEIGHED_KINDS, options.timeout, tells_rest=True, may_be_new=True)
        fresh = await planner(live, clock)
        session = cast("ApiSession", fresh().session)
        namespace = one_namespace(chosen) or session.namespace
        plan = plan_submit(template, values, namespace, lookup=fresh().lookup, context=session.context)
        plan = msgspec.structs.replace(plan, lines=(*plan.lines, TAKEN_AWAY))
        if (await session.request("GET", NODES.path(name=options.node))).status == 404:
            raise Refused(f"there is no node {options.node}; see cockpit get nodes")
        await _refuse_without_rights(session, clock, plan.calls[0].body["metadata"]["namespace"])
        code = await confirm_plan(plan, options, fresh, clock)
        if options.dry_run or code:
            return code
        job = await made(session, plan)
        if job is None:
            return code
        verdict, lines = await watch(
            template, values, session, clock, job, audit=audit_log(), told=lambda line: note([line])
        )
        put(lines)
        put([f"{'pass' if verdict.is_pass else 'FAIL'}: node {options.node}: {verdict.sentence}"])
        return 0 if verdict.is_pass else 1


async def _refuse_without_rights(session: "ApiSession", clock: Clock, namespace: str) -> None:
    """Raise Refused where a step of the test would be refused: a Job that cannot be deleted is left over."""
    rights = rights_to_test(namespace)
    reviews = AccessReviews(session, clock.monotonic, lambda: None, sleep=lambda _: asyncio.sleep(0))
    reviews.want(rights)
    await reviews.ask_wanted()
    if missing := lacking((rights,), reviews.verdict):
        raise Refused(f"{cannot(missing[0])}, which the test needs; {Remedy.ASK_FOR_RIGHT.value}")
