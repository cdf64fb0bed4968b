"""`cockpit triage --watch` to others: changes to receivers, all findings as metrics."""

import argparse
import asyncio
import hashlib
import os
import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from cockpit.attach import Attachment
from cockpit.commands.output import note
from cockpit.commands.patience import Sleep
from cockpit.commands.settings import settings_in_force
from cockpit.commands.triage_document import finding_item
from cockpit.daemon_thread import apart
from cockpit.errors import BadInput, CockpitError
from cockpit.local_state.config import FindingTargets, Settings
from cockpit.local_state.history import LocalHistory, history_path
from cockpit.local_state.paths import state_folder
from cockpit.local_state.shared_notes import SharedNotes
from cockpit.model.finding import Finding
from cockpit.notify.open_metrics import metrics_text, serve_metrics, write_metrics
from cockpit.notify.outbox import Outbox
from cockpit.notify.receivers import CommandReceiver, HttpReceiver, NotDelivered, Receiver
from cockpit.services.problems import is_sighted, look_again
from cockpit.triage.alerts import without_alerts
from cockpit.triage.troubles import Troubles

FIRST_PAUSE_SECONDS: Final = 1.0
LONGEST_PAUSE_SECONDS: Final = 300.0
LAST_SECONDS: Final = 2.0
"""What is being sent when the watch ends may take this time."""
LOOPBACK: Final = "127.0.0.1"
_LARGEST_SECRET: Final = 8192


def targets(options: argparse.Namespace, settings: Settings) -> FindingTargets:
    """Where findings go: each option, else the configuration. Raises BadInput."""
    own = settings.findings
    headers = dict(own.headers)
    for text in options.header:
        name, colon, value = _secret(text, "--header").partition(":")
        if not colon or not name.strip():
            raise BadInput("--header: write 'NAME: VALUE', or @FILE with that line")
        headers[name.strip()] = value.strip()
    found = FindingTargets(
        alertmanager=options.to_alertmanager or own.alertmanager,
        slack=options.to_slack or own.slack,
        command=tuple(shlex.split(options.to_command)) or own.command,
        headers=tuple(headers.items()),
        metrics_file=options.metrics_file or own.metrics_file,
        metrics_listen=options.metrics_listen or own.metrics_listen,
    )
    if not options.watch and any(getattr(options, name) for name in _OPTIONS):
        raise BadInput("findings are sent, and metrics written, with --watch; add it")
    return found


_OPTIONS: Final = ("to_alertmanager", "to_slack", "to_command", "header", "metrics_file", "metrics_listen")


def receivers_of(found: FindingTargets) -> list[Receiver]:
    """Those of the targets. Raises BadInput for a URL that cannot be one, without quoting it."""
    made: list[Receiver] = []
    headers = {name: _secret(value, f"header {name}") for name, value in found.headers}
    for name, text in (("alertmanager", found.alertmanager), ("slack", found.slack)):
        if text:
            url = _secret(text, name)
            where = urlsplit(url)
            if where.scheme not in ("http", "https") or not where.hostname:
                raise BadInput(f"{name}: give a URL with http:// or https://, or @FILE with one")
            made.append(HttpReceiver(name, url, headers))
    if found.command:
        made.append(CommandReceiver(found.command))
    return made


def _secret(text: str, what: str) -> str:
    """The text, or the first line of the file that `@FILE` names. Raises BadInput."""
    if not text.startswith("@"):
        return text
    path = Path(text[1:]).expanduser()
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(_LARGEST_SECRET).partition("\n")[0].strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{what}: {path} cannot be read: {getattr(error, 'strerror', 'not text')}") from None


def address(text: str) -> tuple[str, int]:
    """`PORT` of loopback, or `HOST:PORT`. Raises BadInput."""
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise BadInput(f"metrics-listen: {text!r} is no PORT and no HOST:PORT; write for example 9411")
    return host or LOOPBACK, int(port)


class FindingsOut:
    """The findings of one attachment, sent and shown to others; used as a context around the watch."""

    def __init__(self, found: FindingTargets, sleep: Sleep = asyncio.sleep) -> None:
        self._targets, self._sleep = found, sleep
        self._receivers = receivers_of(found)
        self._outbox: Outbox | None = None
        self._file = Path(found.metrics_file).expanduser() if found.metrics_file else None
        self._troubles = Troubles()
        self._text = "# EOF\n"
        self._has_more = {receiver.name: asyncio.Event() for receiver in self._receivers}
        self._tasks: list[asyncio.Task[None]] = []
        self._server: asyncio.Server | None = None
        self._sending: set[str] = set()
        self._is_ending = False

    async def __aenter__(self) -> "FindingsOut":
        if self._targets.metrics_listen:
            host, port = address(self._targets.metrics_listen)
            try:
                self._server = await serve_metrics(host, port, lambda: self._text)
            except OSError as error:
                raise BadInput(f"metrics-listen: {host}:{port} cannot be used: {error.strerror}") from None
        return self

    async def __aexit__(self, *_what: object) -> None:
        self._is_ending = True
        if busy := [task for task in self._tasks if task.get_name() in self._sending]:
            await asyncio.wait(busy, timeout=LAST_SECONDS)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._server is not None:
            self._server.close()

    async def look(self, attachment: Attachment, found: Sequence[Finding], now_seconds: float) -> None:
        """Note what changed since the last look; sending goes on beside. Raises BadInput where the state
        cannot be kept."""
        session = attachment.session
        if session is None or self._targets == FindingTargets():
            return
        if self._outbox is None:
            self._outbox = Outbox(
                outbox_path(session.context, session.server),
                session.context,
                tuple(receiver.name for receiver in self._receivers),
            )
            self._tasks = [
                asyncio.create_task(self._deliver(item), name=item.name) for item in self._receivers
            ]
        cluster: Any = attachment
        self._troubles.remember((), await apart(partial(_acknowledged, attachment, now_seconds)))
        shown = look_again(self._troubles, without_alerts(found), now_seconds, cluster)
        items = {
            trouble.key: (finding_item(trouble.found), trouble.acknowledged is not None)
            for trouble in shown
            if not trouble.is_resolved
        }
        self._text = metrics_text(items, session.context, now_seconds)
        try:
            self._outbox.look(items, now_seconds, is_gone=lambda item: is_sighted(cluster, _kept(item)))
            if self._file is not None:
                await apart(partial(write_metrics, self._file, self._text))
        except OSError as error:
            raise BadInput(f"findings cannot be kept: {error.filename}: {error.strerror}") from None
        for event in self._has_more.values():
            event.set()

    async def _deliver(self, receiver: Receiver) -> None:
        """Send one change after the other, each until the receiver has it."""
        assert self._outbox is not None
        pause_seconds, told = FIRST_PAUSE_SECONDS, ""
        while not self._is_ending:
            self._sending.discard(receiver.name)
            change = self._outbox.next_for(receiver.name)
            if change is None:
                self._has_more[receiver.name].clear()
                await self._has_more[receiver.name].wait()
                continue
            self._sending.add(receiver.name)
            try:
                await apart(partial(receiver.send, change))
            except NotDelivered as error:
                self._sending.discard(receiver.name)
                if str(error) != told:
                    told = str(error)
                    note([f"findings to {receiver.name}: {told}; tried again until it is delivered"])
                await self._sleep(pause_seconds)
                pause_seconds = min(LONGEST_PAUSE_SECONDS, 2 * pause_seconds)
                continue
            if told:
                note([f"findings to {receiver.name}: delivered again"])
            try:
                self._outbox.sent(receiver.name, change.key)
            except OSError as error:
                note([f"findings to {receiver.name}: not noted as delivered: {error.strerror}"])
            pause_seconds, told = FIRST_PAUSE_SECONDS, ""


def outbox_path(context: str, server: str) -> Path:
    """The state of one cluster on this host."""
    name = hashlib.sha256(f"{context}\n{server}".encode()).hexdigest()[:32]
    return state_folder(os.environ) / "findings" / f"{name}.json"


def _kept(item: Mapping[str, Any]) -> Finding:
    """As much of a finding that an earlier look kept as tells whether it would be seen now."""
    return Finding(finding=item["finding"], row=item["subject_key"])


def _acknowledged(attachment: Attachment, now_seconds: float) -> list[Any]:
    """Acknowledgements on this host and of the group; none where they cannot be read."""
    session = attachment.session
    assert session is not None
    path = history_path(state_folder(os.environ), session.context, session.server)
    found = list(LocalHistory(path).recall(now_seconds).acknowledgements) if path.exists() else []
    folder = settings_in_force().of_context(session.context).acknowledgements_folder
    if folder is not None:
        try:
            found += SharedNotes(folder, session.server).read()
        except CockpitError:
            return found
    return found
