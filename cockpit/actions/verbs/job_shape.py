"""What makes a job or gives it another shape: submit, clone, resize, prioritise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cockpit.actions.verbs.job import right_to_create, rights_on_job
from cockpit.actions.verbs.verb import Flag, Verb, Words

if TYPE_CHECKING:
    from pathlib import Path

    from cockpit.actions.planning import Planning
    from cockpit.jobs.template import Template
    from cockpit.model.job import Job
    from cockpit.model.plan import Plan
    from cockpit.model.right import Right, Ways

MOST_NAMESPACES = 16
"""Where there are more nothing is said of a form that may go to any of them: it would be a question each."""
_PLAIN_KINDS = (
    ("batch/v1", "Job"),
    ("kubeflow.org/v2beta1", "MPIJob"),
    ("v1", "Pod"),
    ("jobset.x-k8s.io/v1alpha2", "JobSet"),
    ("trainer.kubeflow.org/v1alpha1", "TrainJob"),
)


def kinds_of_templates(folders: "Sequence[Path]" = ()) -> "tuple[tuple[str, str], ...]":
    """(apiVersion, kind) of what templates make: the built-in ones (plain kinds, and those of the engines),
    and those in `folders`, which are read where they changed."""
    from cockpit.gangs.registry import engines

    own = (one.own_job for one in engines())
    built_in = (*_PLAIN_KINDS, *((one.api_version, one.kind) for one in own if one is not None))
    if not folders:
        return built_in
    from cockpit.jobs.template import kinds_made

    return tuple(dict.fromkeys((*built_in, *kinds_made(folders))))


def known_namespaces(planning: "Planning") -> tuple[str, ...]:
    """All there are; () where nobody may list them, or it would be too many questions."""
    from cockpit.model.record import Kind

    names = sorted(one.name for one in planning.store.records(Kind.NAMESPACE).values())
    return tuple(names) if len(names) <= MOST_NAMESPACES else ()


def _needs_any_to_submit(planning: "Planning", _nothing: "Sequence[Any]") -> "Ways":
    """The form says what is made and where: any kind of the templates in any namespace."""
    from cockpit.actions.verbs.rights import right_on

    served = [planning.lookup(*one) for one in kinds_of_templates(planning.template_folders)]
    found = [one for one in served if one is not None]
    return tuple(
        (right_on("create", one.path(name)),) for name in known_namespaces(planning) for one in found
    )


SUBMIT = Verb(
    name="submit",
    kind="job",
    key="N",
    opener="submit",
    command="job:submit",
    words=Words(
        "submit", "submitted", "submit a job from a template", "New job from a template", label="new job"
    ),
    needs_any=_needs_any_to_submit,
    finds_own=True,
    takes_many=False,
)


# ---- clone


async def clone_form(planning: "Planning", job: "Job") -> "Template":
    """The form of a clone, filled with what the job is."""
    import asyncio

    from cockpit.actions.clone_retry import template_of
    from cockpit.actions.planning import tree_of, workload_tree
    from cockpit.jobs.template import load_library

    library = await asyncio.to_thread(load_library, planning.template_folders)
    tree, workload = await tree_of(planning, job), await workload_tree(planning, job)
    return template_of(job, tree, workload, planning.taken, library.templates.values())


def plan_of_clone(
    planning: "Planning", job: "Job", template: "Template", values: Mapping[str, str]
) -> "Plan":
    """Create the clone that the form describes. Raises BadInput with one sentence."""
    from cockpit.actions.clone_retry import plan_clone

    return plan_clone(
        job, template, values, store=planning.store, lookup=planning.lookup, context=planning.context
    )


CLONE = Verb(
    name="clone",
    kind="job",
    key="C",
    opener="clone",
    command="clone:run",
    words=Words("clone", "cloned", "submit a copy of a job, with changes", "Clone: edit and resubmit"),
    needs=right_to_create,
    takes_many=False,
)


# ---- resize


@dataclass(frozen=True, slots=True)
class WorkersOptions:
    """How many workers the job is to have."""

    to: int


async def plan_to_resize(planning: "Planning", job: "Job", options: WorkersOptions) -> "Plan":
    """Give the job another number of workers."""
    from cockpit.actions.job_size import plan_resize
    from cockpit.actions.planning import tree_of

    tree = await tree_of(planning, job)
    return plan_resize(job, tree, options.to, lookup=planning.lookup, context=planning.context)


def _needs_to_patch(planning: "Planning", job: "Job") -> "tuple[Right, ...]":
    return rights_on_job(planning, job, "patch")


def _whole(text: str) -> int:
    from cockpit.cli_values import whole

    return whole(text)


RESIZE = Verb(
    name="scale",
    kind="job",
    key="Z",
    opener="resize",
    words=Words("resize", "resized", "resize an elastic job", "Resize an elastic job"),
    options=WorkersOptions,
    weighs_others=True,
    flags=(Flag("--to", "to", "new number of workers", "COUNT", is_required=True, read=_whole),),
    plan=plan_to_resize,
    needs=_needs_to_patch,
)


# ---- prioritise


@dataclass(frozen=True, slots=True)
class PriorityOptions:
    """A priority class, of the queueing engine or of pods, and the queue to move to; one of them at least."""

    priority: str = ""
    queue: str = ""

    def __post_init__(self) -> None:
        from cockpit.errors import BadInput

        if not self.priority and not self.queue:
            raise BadInput("give --priority CLASS or --queue QUEUE")


async def plan_to_prioritise(planning: "Planning", job: "Job", options: PriorityOptions) -> "Plan":
    """Give the job another priority class or queue."""
    from cockpit.actions.named_objects import refuse_absent_priority, refuse_closed_queue
    from cockpit.actions.planning import tree_of
    from cockpit.actions.prioritise import plan_prioritise
    from cockpit.gangs.registry import NONE, engine_named

    own = engine_named(job.engine)
    engine = own if own.priority is not None else NONE
    await refuse_absent_priority(planning.session, planning.lookup, engine, options.priority)
    await refuse_closed_queue(planning.session, planning.lookup, own, job.namespace, options.queue)
    return plan_prioritise(
        job,
        await tree_of(planning, job),
        priority=options.priority,
        queue=options.queue,
        lookup=planning.lookup,
        context=planning.context,
    )


PRIORITISE = Verb(
    name="prioritise",
    kind="job",
    key="I",
    opener="prioritise",
    words=Words(
        "prioritise",
        "prioritised",
        "change the priority class or queue of jobs",
        "Change priority class or queue",
        label="priority",
    ),
    options=PriorityOptions,
    weighs_others=True,
    flags=(
        Flag("--priority", "priority", "priority class of the queueing engine, or else of the pods", "CLASS"),
        Flag("--queue", "queue", "a LocalQueue", "QUEUE"),
    ),
    plan=plan_to_prioritise,
    needs=_needs_to_patch,
)
