"""What a verb asks before there is a plan: a form, a choice, a terminal; by the ids of the registry."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from cockpit_widgets import ChoiceDialog
from cockpit_widgets.types import ChoiceItem

from cockpit import terminal
from cockpit.actions.ask import AskOptions
from cockpit.actions.choices import priority_classes
from cockpit.actions.clone_retry import clone_form
from cockpit.actions.drain.bill import jobs_on
from cockpit.actions.drain.plan import DrainOptions
from cockpit.actions.edit import EditOptions
from cockpit.actions.edit_file import edited_manifest
from cockpit.actions.execute.run_verb import picking_line
from cockpit.actions.job_size import size_of
from cockpit.actions.keep import KeepOptions, is_kept
from cockpit.actions.kill import PruneOptions, old_enough
from cockpit.actions.planner import NoOptions
from cockpit.actions.planning import tree_of
from cockpit.actions.prioritise import PriorityOptions
from cockpit.actions.queue import StopOptions, behind, no_verbs
from cockpit.actions.reclaim_job import ReclaimJobOptions, jobs_line
from cockpit.actions.reclaim_nodes import ReclaimOptions, ReclaimTerms, next_step
from cockpit.actions.verbs import job, node, queue
from cockpit.actions.verbs import pool as pool_verbs
from cockpit.actions.verbs.verb import Flag, Verb
from cockpit.errors import BadInput, CockpitError
from cockpit.gangs import registry
from cockpit.gangs.sentence import counted, listed
from cockpit.model.gang import ClusterQueue, LocalQueue
from cockpit.model.job import Job
from cockpit.model.node import Node
from cockpit.model.plan import Outcome
from cockpit.model.pod import Pod
from cockpit.model.pool import Pool
from cockpit.pools.drain_mark import is_draining
from cockpit.pools.index import pool_again, pool_object
from cockpit.pools.plan import nodes_named
from cockpit.pools.registry import ownership
from cockpit.screens.clone import CloneScreen
from cockpit.screens.enter import given_away
from cockpit.screens.place import Place
from cockpit.screens.port_forward import forward_port
from cockpit.screens.resize import ResizeScreen
from cockpit.screens.scale import AskScreen, LimitScreen, ScaleScreen
from cockpit.screens.smoke import SmokeScreen
from cockpit.screens.submit import SubmitScreen
from cockpit.screens.verb_keys import act
from cockpit.triage.idle_jobs import reclaimable

AGES: Final = (("1h", "an hour"), ("1d", "a day"), ("7d", "a week"), ("30d", "thirty days"))
DRAIN_SETTINGS: Final = tuple(flag for flag in node.DRAIN.flags if flag.field != "after_job")
"""The options that the dialog of the key offers beside *when*; the plan asks for the name itself."""
TIMES: Final = ("30s", "2m", "10m", "1h")
"""Offered for a grace period and a time limit."""
Opener = Callable[[Place, Sequence[Any]], Coroutine[Any, Any, None]]


async def _submit(place: Place, _nothing: Sequence[Any]) -> None:
    """The form of a new job, filled with the draft that was left last."""
    draft = place.cockpit.kept_forms.latest_draft
    if draft is None:
        place.app.push_screen(SubmitScreen())
        return
    name, kept = draft
    place.app.push_screen(SubmitScreen(name, kept.draft, brings_input=True))
    place.say(f"draft of {name}: F4 starts empty")


async def _clone(place: Place, jobs: Sequence[Job]) -> None:
    template = await clone_form(place.cockpit.planner()(), jobs[0])
    place.app.push_screen(CloneScreen(jobs[0], template))


async def open_changed_clone(place: Place, one: Job, changed: Mapping[str, str]) -> None:
    """The form of a clone with these values; what cannot be is said."""
    try:
        template = await clone_form(place.cockpit.planner()(), one)
    except CockpitError as error:
        place.say(error.sentence)
        return
    place.app.push_screen(CloneScreen(one, template, changed))


async def _resize(place: Place, jobs: Sequence[Job]) -> None:
    if len(jobs) > 1:
        raise BadInput("only one job at a time can be resized: unmark the others")
    one = jobs[0]
    tree = await tree_of(place.cockpit.planner()(), one)
    size = size_of(tree)
    if size.why_not:
        raise BadInput(f"{one.kind.lower()} {one.namespace}/{one.name}: {size.why_not}")
    place.app.push_screen(ResizeScreen(one, tree, size.now))


async def _edit(place: Place, jobs: Sequence[Job]) -> None:
    """The manifest in the person's editor, which has the terminal meanwhile; then the plan of the change."""
    terminal.editor_words()

    async def edit(path: Path) -> None:
        async with place.cockpit.terminal_lock:
            with given_away(place.app, "no terminal is available here; use cockpit job edit"):
                await terminal.edit(path)

    edited = await edited_manifest(place.cockpit.planner(), jobs[0], edit)
    if not edited.patch:
        place.say("the manifest was not changed: nothing is done")
        return

    def acted(outcome: Outcome) -> None:
        if outcome.is_done:
            edited.done()
        place.acted(outcome)

    place.say(edited.kept)  # until it is done, also where the answer is no
    act(place.app, job.EDIT, jobs, EditOptions(edited.patch), say=place.say, then=acted)


async def _prioritise(place: Place, jobs: Sequence[Job]) -> None:
    items = await _priorities(place, jobs)
    name = f"{len(jobs)} jobs" if len(jobs) > 1 else f"{jobs[0].namespace}/{jobs[0].name}"
    chosen = await place.app.push_screen_wait(ChoiceDialog(f"Priority or queue of {name}", items))
    if chosen is None:
        return
    what, _, value = chosen.partition(" ")
    options = PriorityOptions(**{what: value})
    act(place.app, job.PRIORITISE, jobs, options, say=place.say, then=place.acted)


async def _priorities(place: Place, jobs: Sequence[Job]) -> list[ChoiceItem]:
    """Priority classes, then the queues that these jobs could move to."""
    engines = [registry.engine_named(one.engine) for one in jobs]
    engine = next((one for one in engines if one.priority is not None), registry.NONE)
    found = await priority_classes(place.cockpit.planner()(), engine)
    items = [ChoiceItem(f"priority {name}", f"priority {name}", str(value)) for name, value in found]
    spaces, here = {one.namespace for one in jobs}, {one.queue for one in jobs}
    if engine.queues.local and len(spaces) == 1:
        queues = place.cockpit.cluster.store.records(engine.queues.local).values()
        names = sorted({one.name for one in queues if one.namespace in spaces} - here)
        items += [
            ChoiceItem(f"queue {name}", f"queue {name}", "move the job to this queue") for name in names
        ]
    return items


async def _prune(place: Place, _nothing: Sequence[Any]) -> None:
    items = [ChoiceItem(age, f"older than {words}", age) for age, words in AGES]
    dialog = ChoiceDialog("Delete finished jobs", items, placeholder="or an age: 12h, 3d", is_free=True)
    age = await place.app.push_screen_wait(dialog)
    if age is None:
        return
    options = PruneOptions(age)
    cluster, shown = place.cockpit.cluster, place.cockpit.cluster.namespaces
    every = [one for one in cluster.jobs.jobs.values() if one.namespace in shown]
    jobs = old_enough(every, options, place.cockpit.clock.cluster_now())
    if not jobs:
        place.say(f"no job ended more than {age} ago")
        return
    shell = picking_line(job.PRUNE, options, place.cockpit.context)
    act(place.app, job.PRUNE, jobs, options, say=place.say, then=place.acted, shell=shell)


async def _scale(place: Place, pools: Sequence[Pool]) -> None:
    pool = pools[0]
    if pool.why_not and await place.cockpit.cluster.outside.read(pool, is_fresh=False):
        pool = pool_again(place.cockpit.cluster.store, pool)
    if pool.why_not:
        raise BadInput(f"{pool.name}: {pool.why_not}")
    place.app.push_screen(ScaleScreen(pool))


async def _ask(place: Place, pools: Sequence[Pool]) -> None:
    """Where something of ours asks for the pool already, the key takes that back."""
    if (await place.cockpit.api.read_standing(pools[0])).found:
        act(place.app, pool_verbs.ASK, pools, AskOptions(withdraw=True), say=place.say, then=place.acted)
    else:
        place.app.push_screen(AskScreen(pools[0]))


async def _limit(place: Place, pools: Sequence[Pool]) -> None:
    pool, store = pools[0], place.cockpit.cluster.store
    if pool.why_not and await place.cockpit.cluster.outside.read(pool, is_fresh=False):
        pool = pool_again(store, pool)
    owner = pool_object(store, pool)
    may = ownership(owner, nodes_named(store, pool), store).may_limit
    if may.may is not True:
        raise BadInput(f"{pool.name}: {may.why_not}")
    place.app.push_screen(LimitScreen(pool))


async def _reclaim(place: Place, pools: Sequence[Pool]) -> None:
    """Ask only where nodes are empty and their idle time is unknown."""
    pool, planning = pools[0], place.cockpit.planner()()
    jobs = _idle_jobs(place, pool)
    if jobs:
        gpus = counted(sum(one.gpus_allocated for one in jobs), "GPU")
        items = [
            ChoiceItem("jobs", counted(len(jobs), "idle job"), f"{gpus}: marked first, then suspended"),
            ChoiceItem("nodes", "idle nodes", "cordoned first, then removed"),
        ]
        chosen = await place.app.push_screen_wait(ChoiceDialog(f"Reclaim of pool {pool.name}", items))
        if chosen == "jobs":
            told = ReclaimJobOptions()
            shell = jobs_line(pool, told, planning.context)
            act(place.app, job.RECLAIM, jobs, told, say=place.say, then=place.acted, shell=shell)
        if chosen != "nodes":
            return
    step, options = next_step(pool, planning.store, planning, ReclaimTerms()), ReclaimOptions()
    if step.unknown and not (step.removes or step.comes_back or step.settling):
        known, unknown = len(step.cordons) + step.beyond, counted(len(step.unknown), "node")
        items = [ChoiceItem("known", "idle for 30 minutes or more", counted(known, "node"))] if known else []
        also = f"also {unknown} idle for an unknown time"
        items.append(ChoiceItem("all", "every node that is empty now", also))
        chosen = await place.app.push_screen_wait(ChoiceDialog(f"Reclaim of pool {pool.name}", items))
        if chosen is None:
            return
        options = ReclaimOptions(include_unknown=chosen == "all")
    act(place.app, pool_verbs.RECLAIM, pools, options, say=place.say, then=place.acted)


def _idle_jobs(place: Place, pool: Pool) -> "list[Job]":
    """Jobs of the pool that were judged idle, and those that are marked."""
    cluster, now_seconds = place.cockpit.cluster, place.cockpit.clock.cluster_now()
    store, known = cluster.store, cluster.verdicts.on_demand.idle
    return [
        one
        for one in reclaimable(pool.node_names, cluster.jobs.jobs.values(), store)
        if one.reclaim is not None or known.idle(one, store, now_seconds) is not None
    ]


async def _stop_queue(place: Place, queues: Sequence[LocalQueue | ClusterQueue]) -> None:
    if why := no_verbs(queues[0]):
        place.say(why)
        return
    found = behind(queues[0], place.cockpit.cluster.store)
    items = [item for at, one in enumerate(found) for item in _queue_choices(at, one)]
    chosen = await place.app.push_screen_wait(ChoiceDialog(f"Queue {queues[0].key}", items))
    if chosen is None:
        return
    what, _, at = chosen.partition(" ")
    verb = queue.RESUME if what == "resume" else queue.STOP
    options = NoOptions() if what == "resume" else StopOptions(drain=what == "drain")
    act(place.app, verb, (found[int(at)],), options, say=place.say, then=place.acted)


def _queue_choices(at: int, one: LocalQueue | ClusterQueue) -> list[ChoiceItem]:
    title = "LocalQueue" if isinstance(one, LocalQueue) else f"ClusterQueue {one.name}"
    items = []
    if one.is_stopped:
        items.append(ChoiceItem(f"resume {at}", f"resume {title}", f"it is stopped ({one.stop_policy})"))
    if one.stop_policy != "Hold":
        items.append(ChoiceItem(f"stop {at}", f"stop {title}", "running jobs continue"))
    if one.stop_policy != "HoldAndDrain":
        items.append(ChoiceItem(f"drain {at}", f"drain {title}", "running jobs are evicted"))
    return items


async def _drain(place: Place, nodes: Sequence[Node]) -> None:
    options = DrainOptions()  # the defaults of the command
    name = f"{len(nodes)} nodes" if len(nodes) > 1 else f"node {nodes[0].name}"
    while True:
        items = [*_drain_choices(place, nodes), *_drain_settings(options)]
        chosen = await place.app.push_screen_wait(ChoiceDialog(f"Drain of {name}", items))
        if chosen is None:
            return
        flag = next((one for one in DRAIN_SETTINGS if one.field == chosen), None)
        if flag is None:
            break
        options = await _with_setting(place, options, flag)
    if chosen == "stop":
        act(place.app, node.STOP_DRAIN, nodes, NoOptions(), say=place.say, then=place.acted)
        return
    options = replace(options, after_job=chosen == "after")
    act(place.app, node.DRAIN, nodes, options, say=place.say, then=place.acted)


def _drain_settings(options: DrainOptions) -> list[ChoiceItem]:
    """What a command says by options, as it stands: chosen, it is another, and the question stands again."""
    items = []
    for flag in DRAIN_SETTINGS:
        value = getattr(options, flag.field)
        said = ("on" if value else "off") if flag.is_switch else value or "not set"
        items.append(ChoiceItem(flag.field, f"{flag.name}: {said}", flag.help))
    return items


async def _with_setting(place: Place, options: DrainOptions, flag: Flag) -> DrainOptions:
    """The options with another value of that flag. Raises BadInput for a time that is none."""
    changes: dict[str, Any] = {flag.field: not getattr(options, flag.field)}
    if not flag.is_switch:
        items = [ChoiceItem("not set", "not set", flag.help), *(ChoiceItem(one, one) for one in TIMES)]
        dialog = ChoiceDialog(flag.name, items, placeholder="or a time: 90s, 10m", is_free=True)
        if (chosen := await place.app.push_screen_wait(dialog)) is None:
            return options
        changes[flag.field] = "" if chosen == "not set" else chosen
    return replace(options, **changes)


async def _keep(place: Place, nodes: Sequence[Node]) -> None:
    """Let go what is kept; where some are and some are not, keep all."""
    options = KeepOptions(off=all(map(is_kept, nodes)))
    act(place.app, node.KEEP, nodes, options, say=place.say, then=place.acted)


async def _smoke_test(place: Place, nodes: Sequence[Node]) -> None:
    place.app.push_screen(SmokeScreen(nodes[0].name, place.cockpit.default_namespace))


def _drain_choices(place: Place, nodes: Sequence[Node]) -> list[ChoiceItem]:
    """Waiting for the jobs first: it interrupts no job."""
    cluster = place.cockpit.cluster
    store, jobs = cluster.store, cluster.jobs.jobs
    names = [
        one.name
        for node in nodes
        for one, _ in jobs_on(node.name, (pod.uid for pod in store.pods_on(node.name)), jobs, store)
        if one.is_worth_waiting
    ]
    names = list(dict.fromkeys(names))
    again = "go on: " if len(nodes) == 1 and is_draining(nodes[0]) else ""
    items = []
    if names:
        told = listed("once these have ended: ", names, 90)
        items.append(ChoiceItem("after", f"{again}drain after its jobs", told))
    breaks = "jobs that will be interrupted are listed" if names else ""
    items.append(ChoiceItem("now", f"{again}drain now", breaks))
    if any(map(is_draining, nodes)):
        items.append(ChoiceItem("stop", "stop the drain", "uncordons the nodes the drain cordoned"))
    return items


async def _shell(place: Place, pods: Sequence[Pod]) -> None:
    place.cockpit.enter_pod(pods[0])


async def _tensorboard(place: Place, _jobs: Sequence[Job]) -> None:
    place.action_tensorboard()  # type: ignore[attr-defined] # the page that has this key has the port


async def _forward(place: Place, pods: Sequence[Pod]) -> None:
    await forward_port(place, pods[0])


async def open_verb(place: Place, verb: Verb, things: Sequence[Any]) -> None:
    """Ask for the verb's options; show why they cannot be chosen."""
    try:
        await OPENERS[verb.opener](place, things)
    except CockpitError as error:
        place.say(error.sentence)


OPENERS: Final[dict[str, Opener]] = {
    "submit": _submit,
    "clone": _clone,
    "resize": _resize,
    "edit": _edit,
    "prioritise": _prioritise,
    "prune": _prune,
    "scale": _scale,
    "ask": _ask,
    "limit": _limit,
    "reclaim": _reclaim,
    "stop queue": _stop_queue,
    "drain": _drain,
    "keep": _keep,
    "smoke test": _smoke_test,
    "shell": _shell,
    "tensorboard": _tensorboard,
    "forward": _forward,
}
