"""`cockpit doctor`: what the cockpit has to work with, a line each, and what would mend what it lacks."""

import argparse
import asyncio
import importlib.metadata
import os
import platform
import shutil
import sys
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

import msgspec

from cockpit import __version__
from cockpit.clock import SystemClock
from cockpit.commands.attached import Live, acts_as_notes, attached
from cockpit.commands.document import OutputDocument, document_lines
from cockpit.commands.output import grid, note, put
from cockpit.commands.patience import within
from cockpit.commands.settings import attach_options, settings_in_force
from cockpit.commands.triage_document import alert_source
from cockpit.errors import CockpitError
from cockpit.gangs.installed_engines import installed_engines
from cockpit.gangs.sentence import counted
from cockpit.kube.discovery import discover
from cockpit.model.batch import Phase, StreamStatus
from cockpit.model.record import Kind
from cockpit.model.trust import Trust
from cockpit.pools.index import pools_of

_ALL = (Kind.POD, Kind.NODE, Kind.JOB, Kind.MPIJOB, Kind.WORKLOAD, Kind.LOCAL_QUEUE, Kind.EVENT)
_SMALLEST = (80, 24)
_DEPENDENCIES = ("textual", "kubernetes", "msgspec")


class Check(NamedTuple):
    """One fact. Something is amiss where there is a `remedy`, or where the sentence found names its own."""

    about: str
    found: str
    remedy: str = ""
    names_own: bool = False

    @property
    def is_amiss(self) -> bool:
        """Whether a person should look."""
        return bool(self.remedy) or self.names_own


class CheckItem(msgspec.Struct):
    """A check; `remedy` is "" where nothing is amiss, or where `found` names it."""

    check: str
    is_amiss: bool
    found: str
    remedy: str


class DoctorDocument(OutputDocument, kw_only=True):
    """`cockpit doctor`."""

    kind: Literal["doctor"]
    items: list[CheckItem]


def run(options: argparse.Namespace) -> int:
    """Print all checks: 0 where nothing is amiss, 3 where something is, 2 without a connection."""
    return asyncio.run(within(options.timeout, _run(options)))


async def _run(options: argparse.Namespace) -> int:
    checks = [*here(shutil.get_terminal_size() if sys.stdout.isatty() else None)]
    is_reached = True
    try:
        chosen = attach_options(options, settings_in_force())
        async with attached(chosen, SystemClock()) as live:
            note(await live.settle(_ALL, options.timeout, with_gpus=True, with_alerts=True, tells_rest=True))
            checks += await _there(live, may_write=chosen.write)
    except CockpitError as error:
        is_reached = False
        checks.append(Check("cluster", error.sentence, names_own=True))
    if options.output == "table":
        put(
            grid(
                ["", "check", "found", "remedy"],
                [["!" if c.is_amiss else "✓", c.about, c.found, c.remedy] for c in checks],
            )
        )
    else:
        items = [
            {"check": c.about, "is_amiss": c.is_amiss, "found": c.found, "remedy": c.remedy} for c in checks
        ]
        put(document_lines(DoctorDocument, {"kind": "doctor", "items": items}, options.output))
    return 2 if not is_reached else 3 if any(check.is_amiss for check in checks) else 0


def here(size: os.terminal_size | None) -> Iterator[Check]:
    """This program and this terminal; `size` None where the output goes to none."""
    versions = [f"{name} {importlib.metadata.version(name)}" for name in _DEPENDENCIES]
    yield Check(
        "versions", f"cockpit {__version__}, Python {platform.python_version()}, {', '.join(versions)}"
    )
    term = os.environ.get("TERM", "")
    if size is None:
        yield Check("terminal", "output goes to no terminal: commands work, screens do not open")
    elif term in ("", "dumb"):
        yield Check("terminal", f"TERM is {term or 'not set'}", "set TERM, for example to xterm-256color")
    elif size.columns < _SMALLEST[0] or size.lines < _SMALLEST[1]:
        found = f"{term}, {size.columns}x{size.lines}"
        yield Check("terminal", found, "make it 80x24 or larger")
    else:
        colours = (
            "true colour" if os.environ.get("COLORTERM") in ("truecolor", "24bit") else "256 colours or fewer"
        )
        yield Check("terminal", f"{term}, {size.columns}x{size.lines}, {colours}")
    encoding = (sys.stdout.encoding or "").lower()
    if encoding not in ("", "utf-8", "utf8"):
        yield Check("encoding", encoding, "use a UTF-8 locale, such as LANG=C.UTF-8")


async def _there(live: Live, *, may_write: bool) -> list[Check]:
    """The cluster: who is asked, as whom, what may be read, what is there."""
    attachment = live.attachment
    session, store = attachment.session, attachment.store
    if session is None:
        return [Check("cluster", attachment.sentence or "no connection", names_own=True)]
    begun = attachment.clock.monotonic()
    answer = await session.request("GET", "/version")
    milliseconds = round((attachment.clock.monotonic() - begun) * 1000)
    version = answer.json().get("gitVersion", "unknown") if answer.status == 200 else "unknown"
    insecure = {
        Trust.UNVERIFIED: "set certificate-authority in the kubeconfig",
        Trust.PLAIN: "use an https:// server in the kubeconfig",
    }
    reached = f"{session.context}: Kubernetes {version} at {session.server}, answers in {milliseconds} ms"
    checks = [Check("cluster", reached, insecure.get(session.trust, ""))]
    who = next(iter(acts_as_notes(session)), f"user {session.user}")
    checks.append(
        Check("user", f"{who}, {'may change things' if may_write else 'read-only without --write'}")
    )
    checks += _rights(store.statuses().values())
    served = attachment.served or await discover(session)
    engines = installed_engines(store, lambda group, plural: served.find(group, plural) is not None)
    there = [item for item in engines if item.is_served]
    dead = [item.sentence for item in there if item.is_alive is False]
    names = ", ".join(item.engine for item in there) if there else "none: jobs start pod by pod"
    checks.append(Check("engines", "; ".join(dead) or names, "start its controller" if dead else ""))
    checks.append(_telemetry(store.status(Kind.GPU)))
    checks.append(_alerts(alert_source(attachment, attachment.clock.cluster_now())))
    pools = pools_of(store)
    owners = ", ".join(sorted({pool.owner_kind or "labels alone" for pool in pools})) if pools else ""
    checks.append(Check("pools", f"{counted(len(pools), 'pool')} of {owners}" if pools else "none"))
    return checks


def _rights(statuses: Iterable[StreamStatus]) -> list[Check]:
    denied = sorted(
        {item.kind for item in statuses if item.phase is Phase.DENIED and item.kind != Kind.ALERT}
    )
    if not denied:
        return [Check("rights", "every kind that is read may be read")]
    remedy = "bind the role of deploy/roles/viewer.yaml"
    return [Check("rights", f"denied: {', '.join(denied)}", remedy)]


def _telemetry(status: StreamStatus | None) -> Check:
    if status is None or status.phase in (Phase.CONNECTING, Phase.LISTING):
        return Check("GPU metrics", "no answer yet", "see cockpit get gpus")
    if status.phase is Phase.LIVE:
        return Check("GPU metrics", status.message or f"{counted(status.objects, 'card')}")
    remedy = "give --prometheus-url, or install dcgm-exporter or cockpit-exporter"
    return Check("GPU metrics", status.message or status.phase.value, remedy)


def _alerts(source: dict[str, Any]) -> Check:
    """Whether alerts are read, and how many are about nodes and jobs here: others are not shown."""
    if source["phase"] is None:
        return Check("alerts", "not read: alertmanager-url is not set")
    if source["phase"] != Phase.LIVE.value:
        return Check(
            "alerts", source["message"] or "no answer yet", "see alertmanager-url in docs/on-call.md"
        )
    found = f"{counted(source['shown'], 'alert')} about nodes and jobs; {source['others']} about other things"
    more = f". {source['message']}" if source["message"] else ""
    return Check("alerts", f"{found}, not shown{more}", names_own=bool(more))
