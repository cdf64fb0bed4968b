"""The palette: places, verbs, contexts, namespaces and names, by typing a part of them."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from cockpit_widgets import ChoiceDialog, ConfirmDialog
from cockpit_widgets.calm_themes import CALM
from cockpit_widgets.glyphs import BARRED_GLYPH
from cockpit_widgets.marking_dialog import MarkingDialog
from cockpit_widgets.types import ChoiceItem
from textual.app import App
from textual.screen import Screen

from cockpit.actions.verbs.registry import VERBS
from cockpit.errors import CockpitError
from cockpit.local_state.config import not_a_namespace
from cockpit.model.namespaces import namespaces_of
from cockpit.model.object_table import ObjectKind
from cockpit.model.record import Kind
from cockpit.screens.app_protocol import Cockpit, acting_in, cockpit_of
from cockpit.screens.key_rights import why_barred
from cockpit.screens.keymap import KEYS, VERB
from cockpit.screens.kind import KindScreen
from cockpit.screens.pages import PLACES
from cockpit.screens.place import Place
from cockpit.screens.port_forward import stop_items, stopped
from cockpit.screens.saved_filters import filter_items
from cockpit.screens.shared_place import SharedPlace
from cockpit.screens.table_place import TablePlace
from cockpit.views.clusters import joined_key, split_key
from cockpit.views.order import natural

ALL_NAMESPACES = "all namespaces"
MOST_NAMES = 2_000
"""Jobs and nodes offered by name; beyond that the filter of their place serves better."""


async def pick_namespace(app: App[Any]) -> None:
    """Show one namespace, several, or all; where they are not all read the store is refilled."""
    cockpit = cockpit_of(app)
    here = cockpit.cluster.namespaces
    stores = [each.cluster.store for each in cockpit.clusters]
    listed = [record.name for store in stores for record in store.records(Kind.NAMESPACE).values()]
    names = sorted({*(listed or await _known_namespaces(cockpit)), *here.names})
    items = [ChoiceItem("", ALL_NAMESPACES), *(ChoiceItem(name) for name in names)]
    dialog = MarkingDialog("Namespace", items, marks=here.names, is_free=not listed)
    answer = await app.push_screen_wait(dialog)
    if answer is None:
        return
    chosen = namespaces_of(answer)
    if wrong := not_a_namespace(chosen):
        app.notify(f"{wrong!r} is not a valid namespace name", severity="error")
    elif chosen != here:
        for each in cockpit.clusters:
            each.typed_namespaces.update(chosen.names)
            each.reattach(namespaces=chosen)


async def _known_namespaces(cockpit: Cockpit) -> set[str]:
    """Where namespaces may not be listed: those of the kubeconfig, of the configuration, and typed before."""
    known = {cockpit.cluster.home_namespace, *cockpit.configured_namespaces, *cockpit.typed_namespaces}
    with suppress(CockpitError):
        known.update(await cockpit.api.context_namespaces())
    return known - {""}


async def pick_context(app: App[Any]) -> None:
    """Switch to another context of the kubeconfig; of several open clusters to another one of them."""
    cockpit = cockpit_of(app)
    if len(cockpit.clusters) > 1:
        await _pick_open(app, cockpit)
        return
    try:
        names = await cockpit.api.contexts()
    except CockpitError as error:
        app.notify(error.sentence, severity="error")
        return
    chosen = await app.push_screen_wait(ChoiceDialog("Context", names, current=cockpit.context))
    if chosen is not None and (chosen != cockpit.context or cockpit.cluster.has_failed):
        cockpit.reattach(context=chosen)


async def _pick_open(app: App[Any], cockpit: Cockpit) -> None:
    """Have a place of one cluster show another one; attach again to one that was given up."""
    items = [ChoiceItem(each.context, each.context, each.cluster.link.value) for each in cockpit.clusters]
    answer = await app.push_screen_wait(ChoiceDialog("Cluster", items, current=cockpit.context))
    chosen = next((each for each in cockpit.clusters if each.context == answer), None)
    page = app.screen
    if chosen is None or not isinstance(page, Place):
        return
    if chosen.cluster.has_failed:
        chosen.reattach(context=chosen.context)
    elif isinstance(page, SharedPlace) and page.is_several:
        page.say(f"this list has the rows of every cluster: filter by cluster:{chosen.context}")
    elif page.place not in PLACES:
        page.say(f"this page is about {page.cockpit.context}; esc leaves it")
    else:
        with acting_in(chosen):
            chosen.go(page.place)


async def open_palette(app: App[Any]) -> None:
    """Everything by name."""
    chosen = await app.push_screen_wait(ChoiceDialog("Command palette", _items(app)))
    if chosen is None:
        return
    what, _, rest = chosen.partition(" ")
    if what == "key":
        await app.screen.run_action(rest)
    elif what == "write":
        await _unlock(app)
    elif what == "read-only":
        cockpit_of(app).lock()
    elif stopped(app, chosen):
        return
    elif what == "theme":
        app.theme = rest
    elif what == "kind":
        kinds = cockpit_of(app).api.kinds()
        app.push_screen(KindScreen(next(kind for kind in kinds if _kind_value(kind) == chosen)))
    elif what == "job":
        _cluster_at(app, rest).open_job(split_key(rest)[1])
    elif what == "node":
        _cluster_at(app, rest).open_node(split_key(rest)[1])


def _cluster_at(app: App[Any], key: str) -> Cockpit:
    """The cluster that a name in the palette is of."""
    here, context = cockpit_of(app), split_key(key)[0]
    return next((each for each in here.clusters if each.context == context), here)


def _items(app: App[Any]) -> list[ChoiceItem]:
    cockpit = cockpit_of(app)
    cluster = cockpit.cluster
    lock = (
        ChoiceItem("write", "write", "unlock the keys that change the cluster")
        if cluster.is_read_only
        else ChoiceItem("read-only", "read-only", "lock the keys that change the cluster")
    )
    return [
        lock,
        *stop_items(cockpit_of(app).port_forwards.open),
        *_verbs(app.screen),
        *(ChoiceItem(f"theme {name}", f"theme {name}", "colours") for name in _themes(app)),
        *(
            ChoiceItem(_kind_value(kind), kind.plural, _kind_note(kind))
            for kind in cockpit_of(app).api.kinds()
        ),
        *_names(cockpit.clusters),
        *_orders(app.screen),
        *_filters(app.screen),
    ]


def _orders(screen: Screen[Any]) -> Iterator[ChoiceItem]:
    """Every order of the list in sight, by its folded and hidden columns, too."""
    if isinstance(screen, TablePlace):
        for column in screen.offered_columns:
            if column.sortable:
                note = f"order of {screen.noun}"
                yield ChoiceItem(f"key sort_by({column.id!r})", f"sort by {column.title}", note)


def _filters(screen: Screen[Any]) -> Iterator[ChoiceItem]:
    if isinstance(screen, Place) and screen.has_filter:
        yield from filter_items(screen.saved_filters, screen.state.filter)


def _themes(app: App[Any]) -> list[str]:
    """Ours first, then Textual's; not the one in force."""
    return [name for name in (*CALM, *sorted(app.available_themes.keys() - CALM.keys())) if name != app.theme]


def _kind_value(kind: ObjectKind) -> str:
    return f"kind {kind.api_version} {kind.plural}"


def _kind_note(kind: ObjectKind) -> str:
    """`MPIJob of kubeflow.org/v2beta1 · mj`: what else it is called."""
    short = " ".join(kind.names[2:])
    return f"{kind.kind} of {kind.api_version}{f' · {short}' if short else ''}"


def _verbs(screen: Screen[Any]) -> Iterator[ChoiceItem]:
    """What the keys of the screen do, then the verbs that have no key; what is barred says why."""
    if not isinstance(screen, Place):
        return
    barred = {
        item.binding.id: why_barred(screen, item.binding.id or "")
        for item in screen.active_bindings.values()
        if not item.enabled
    }
    here = {
        item.binding.id: item.binding
        for item in screen.active_bindings.values()
        if item.enabled or barred.get(item.binding.id)
    }
    for key in KEYS:
        if key.id in here and key.id not in ("palette", "back", "open", "mark"):
            one = here[key.id]
            why = barred.get(key.id, "")
            yield _item(one.action, one.description or key.label, one.tooltip or key.help, why)
    if not screen.cockpit.cluster.is_read_only:
        for verb in VERBS:
            if not verb.key and verb.words.help and verb.kind in screen.kinds:
                why = why_barred(screen, verb.id)
                yield _item(f"{VERB}('{verb.id}')", verb.words.footer, verb.words.help, why)


def _item(action: str, label: str, help_: str, why: str) -> ChoiceItem:
    return ChoiceItem(f"key {action}", f"{BARRED_GLYPH} {label}" if why else label, why or help_)


def _names(clusters: Sequence[Cockpit]) -> list[ChoiceItem]:
    """Jobs of the namespaces that are shown, then nodes, each by name; of several clusters with their own."""
    several = len(clusters) > 1
    jobs = [
        (each.context, job)
        for each in clusters
        for job in each.cluster.jobs.jobs.values()
        if job.namespace in each.cluster.namespaces
    ]
    nodes = [
        (each.context, node) for each in clusters for node in each.cluster.store.records(Kind.NODE).values()
    ]
    jobs.sort(key=lambda each: natural(f"{each[1].namespace}/{each[1].name}"))
    nodes.sort(key=lambda each: natural(each[1].name))

    def note(context: str, kind: str) -> str:
        return f"{kind} in {context}" if several else kind

    return [
        *(
            ChoiceItem(f"job {joined_key(of, job.key)}", f"{job.namespace}/{job.name}", note(of, job.kind))
            for of, job in jobs[:MOST_NAMES]
        ),
        *(
            ChoiceItem(f"node {joined_key(of, node.name)}", node.name, note(of, "node"))
            for of, node in nodes[:MOST_NAMES]
        ),
    ]


async def _unlock(app: App[Any]) -> None:
    """`:write`, with one confirmation."""
    cockpit = cockpit_of(app)
    if not cockpit.cluster.is_connected:
        app.notify("not connected to a cluster; there is nothing to unlock")
        return
    lines = (
        "capital keys will submit, kill and scale, each asks for confirmation first",
        "every change is recorded in this host's audit log",
    )
    dialog = ConfirmDialog(
        f"Unlock changes of {cockpit.context}",
        lines,
        command=f"cockpit --context {cockpit.context} --write",
        confirm_label="unlock",
    )
    if await app.push_screen_wait(dialog):
        cockpit.unlock()
