"""The palette: places, verbs, contexts, namespaces and names, by typing a part of them."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from cockpit_widgets import ChoiceDialog, ConfirmDialog
from cockpit_widgets.types import ChoiceItem

from cockpit.attach import Link
from cockpit.errors import CockpitError
from cockpit.keep.config import is_namespace
from cockpit.model.job import Job
from cockpit.model.node import Node
from cockpit.model.record import Kind
from cockpit.screens.keymap import KEYS
from cockpit.views.order import natural

if TYPE_CHECKING:
    from cockpit.app import CockpitApp

ALL_NAMESPACES = "all namespaces"
MOST_NAMES = 2_000
"""Jobs and nodes offered by name; beyond that the filter of their place serves better."""


async def pick_namespace(app: "CockpitApp") -> None:
    """Show one namespace, or all; the store is filled anew."""
    attachment = app.attachment
    here = attachment.options.namespace
    known = {record.name for record in attachment.store.records(Kind.NAMESPACE).values()}
    # where namespaces may not be listed, the kubeconfig's own and the one in force are still known
    own = attachment.session.namespace if attachment.session is not None else ""
    names = sorted(known or {own, here} - {""})
    items = [ChoiceItem("", ALL_NAMESPACES), *(ChoiceItem(name) for name in names)]
    dialog = ChoiceDialog("Namespace", items, current=here, is_free=not known)
    chosen = await app.push_screen_wait(dialog)
    if chosen and not is_namespace(chosen):
        app.notify(f"{chosen!r} is not the name of a namespace", severity="error", markup=False)
    elif chosen is not None and chosen != here:
        app.reattach(namespace=chosen)


async def pick_context(app: "CockpitApp") -> None:
    """Attach to another context of the kubeconfig."""
    try:
        names = await app.attachment.contexts()
    except CockpitError as error:
        app.notify(error.sentence, severity="error", markup=False)
        return
    items = [ChoiceItem(name, note="here" if name == app.context else "") for name in names]
    chosen = await app.push_screen_wait(ChoiceDialog("Context", items))
    if chosen is not None and (chosen != app.context or app.attachment.link is Link.FAILED):
        app.reattach(context=chosen)


async def open_palette(app: "CockpitApp") -> None:
    """Everything by name."""
    chosen = await app.push_screen_wait(ChoiceDialog("Go to or do", _items(app)))
    if chosen is None:
        return
    what, _, rest = chosen.partition(" ")
    if what == "key":
        await app.screen.run_action(rest)
    elif what == "write":
        await _unlock(app)
    elif what == "read-only":
        if app.attachment.session is not None:
            app.attachment.session.lock()
        app.redraw()
    elif what == "job":
        from cockpit.screens.job import JobScreen

        app.push_screen(JobScreen(rest))
    elif what == "node":
        from cockpit.screens.node import NodeScreen

        app.push_screen(NodeScreen(rest))


def _items(app: "CockpitApp") -> list[ChoiceItem]:
    attachment = app.attachment
    lock = (
        ChoiceItem("write", "write", "unlock the keys that change the cluster")
        if attachment.is_read_only
        else ChoiceItem("read-only", "read-only", "lock the keys that change the cluster")
    )
    here = {active.binding.id for active in app.screen.active_bindings.values() if active.enabled}
    verbs = [
        ChoiceItem(f"key {key.action}", key.label, key.help)
        for key in KEYS
        if key.id in here and key.id not in ("palette", "back", "open", "mark")
    ]
    space = attachment.options.namespace
    if hasattr(app.screen, "action_prune") and not attachment.is_read_only:
        verbs.append(ChoiceItem("key prune", "prune", "Delete finished jobs older than an age"))
    return [
        lock,
        *verbs,
        *_named(
            (job for job in attachment.jobs.jobs.values() if space in ("", job.namespace)),
            attachment.store.records(Kind.NODE).values(),
        ),
    ]


def _named(jobs: Iterable[Job], nodes: Iterable[Node]) -> list[ChoiceItem]:
    """Jobs, then nodes, each by name."""
    by_name = sorted(jobs, key=lambda job: natural(f"{job.namespace}/{job.name}"))[:MOST_NAMES]
    machines = sorted(nodes, key=lambda node: natural(node.name))[:MOST_NAMES]
    return [
        *(ChoiceItem(f"job {job.key}", f"{job.namespace}/{job.name}", job.kind) for job in by_name),
        *(ChoiceItem(f"node {node.name}", node.name, "node") for node in machines),
    ]


async def _unlock(app: "CockpitApp") -> None:
    """`:write`, with one confirmation."""
    session = app.attachment.session
    if session is None:
        app.notify("not attached to a cluster: there is nothing to unlock", markup=False)
        return
    lines = (
        "capital keys will submit, kill and scale, each after a confirmation of its own",
        "every change leaves an audit line on this host",
    )
    dialog = ConfirmDialog(
        f"Unlock changes of {session.context}",
        lines,
        command=f"cockpit --context {session.context} --write",
        confirm_label="unlock",
    )
    if await app.push_screen_wait(dialog):
        session.unlock()
        app.redraw()
