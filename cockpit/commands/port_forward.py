"""`cockpit pod forward NAME --port PORT`: a port of a pod at a port of this machine."""

import argparse
import asyncio

from cockpit.actions.find import pod_named
from cockpit.actions.forward import Passage, hold_open, parse_ports, plan_passage, why_over
from cockpit.attach import AttachOptions
from cockpit.clock import Clock, SystemClock
from cockpit.commands.attached import Live, attached
from cockpit.commands.enter import options_of_a_way
from cockpit.commands.output import note, put
from cockpit.commands.patience import wait_on, within
from cockpit.commands.settings import audit_log
from cockpit.errors import NoConnection
from cockpit.kube.session import ApiSession
from cockpit.listener import LOOPBACK, Listener
from cockpit.model.pod import Pod
from cockpit.model.record import Kind

LOOK_SECONDS = 1.0


def run(options: argparse.Namespace) -> int:
    """Listen until interrupted, or until the pod has ended."""
    ports = parse_ports(options.port)
    return asyncio.run(within(options.timeout, _run(options, options_of_a_way(options, "pod"), ports)))


async def _run(options: argparse.Namespace, chosen: AttachOptions, ports: tuple[int, int]) -> int:
    clock = SystemClock()
    async with attached(chosen, clock) as live:
        note(await live.settle((Kind.POD,), options.timeout))
        pods = live.attachment.store.records(Kind.POD).values()
        pod = pod_named((pod for pod in pods if isinstance(pod, Pod)), options.name, chosen.namespaces)
        local_port, port = ports
        passage = plan_passage(pod, port, local_port)
        await forwarded(live, session_of(live), passage, clock, "{}")
    return 0


def session_of(live: Live) -> ApiSession:
    """Raises NoConnection where the session was lost since the lists came."""
    session = live.attachment.session
    if session is None:
        raise NoConnection(live.attachment.sentence or "not connected to a cluster")
    return session


async def forwarded(live: Live, session: ApiSession, passage: Passage, clock: Clock, address: str) -> None:
    """Print the address, as `address` formats `127.0.0.1:8080`, and forward until it is interrupted or the
    pod ends. Raises CockpitError."""

    async def stay(listener: Listener) -> str:
        wait_on()
        put([address.format(f"{LOOPBACK}:{listener.port}")])
        note([f"{passage.target}; press ctrl+c to stop"])
        return await _until_over(live, passage, listener)

    note([await hold_open(passage, session, audit_log(), clock, stay)])


async def _until_over(live: Live, passage: Passage, listener: Listener) -> str:
    """Wait until the pod has ended or is gone; troubles are noted as they come."""
    noted = ""
    while not (why := why_over(passage, live.attachment.store)):
        live.attachment.jobs.catch_up()
        if listener.trouble != noted:
            noted = listener.trouble
            note([noted] if noted else [])
        await asyncio.sleep(LOOK_SECONDS)
    return why
