"""The registry: every verb is whole, its rights are those of its calls, and what is made from it agrees."""

import argparse
from collections.abc import Sequence
from typing import Any

import pytest

from cockpit import cli
from cockpit.actions.execute.bulk_plan import make_bulk_plan
from cockpit.actions.execute.run_verb import picking_line, plan_of
from cockpit.actions.kill import PruneOptions
from cockpit.actions.planner import NoOptions
from cockpit.actions.planning import Make, Planning
from cockpit.actions.prioritise import PriorityOptions
from cockpit.actions.queue import StopOptions
from cockpit.actions.target_kinds import KINDS
from cockpit.actions.verbs.job import KILL, PRIORITISE, PRUNE, RESUME, SUSPEND
from cockpit.actions.verbs.queue import STOP
from cockpit.actions.verbs.registry import VERBS, is_repeatable, verb_of, verbs_on
from cockpit.actions.verbs.verb import Verb
from cockpit.errors import BadInput
from cockpit.model.gang import LocalQueue, PodGroup
from cockpit.model.plan import Plan
from cockpit.model.right import Right
from cockpit.screens.verb_forms import OPENERS
from cockpit.store.store import Store
from tests.unit.actions.builders import job, pod, rights_of, store_of
from tests.unit.actions.busy import RUNNING, Busy, _kueue_job, mpijob, tables
from tests.unit.actions.test_lifecycle_plans import gang_of

EVERY = pytest.mark.parametrize("verb", VERBS, ids=lambda one: one.id)


@EVERY
def test_a_verb_is_whole(verb: Verb) -> None:
    assert verb_of(verb.id) is verb and verb.kind in KINDS and (verb.noun or verb.kind) in KINDS
    assert verb.words.infinitive and verb.words.past and verb.words.command
    assert not verb.key or (len(verb.key) == 1 and verb.key.isupper())
    assert not verb.opener or verb.opener in OPENERS
    first, *_ = verbs_on(verb.key, (verb.kind,)) if verb.key else (verb,)
    assert first.words.help or not verb.key, "the first verb of a key tells what the key does"
    fields = {one.field for one in verb.flags}
    assert fields == set(getattr(verb.planner.options, "__dataclass_fields__", {}))


def test_of_verbs_that_share_a_key_one_is_for_whatever_is_left() -> None:
    for verb in VERBS:
        if verb.key:
            rest = [one for one in verbs_on(verb.key, (verb.kind,)) if one.is_for is None]
            assert rest, verb.key


@EVERY
def test_a_verb_has_its_subcommand(verb: Verb, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main([verb.noun or verb.kind, verb.name, "--help"])
    out = " ".join(capsys.readouterr().out.split())
    assert end.value.code == 0 and verb.words.command in out
    for flag in verb.flags:
        assert flag.name in out


def test_only_what_is_repeatable_is_repeated() -> None:
    assert is_repeatable("job.kill") and is_repeatable("queue.stop")
    assert (
        not is_repeatable("job.exec")
        and not is_repeatable("job.tensorboard")
        and not is_repeatable("pod.forward")
        and not is_repeatable("")
    )


# ---- rights


def planning(store: Any, session: Any = None) -> Planning:
    return Planning(store, session, lambda *_: None, "prod")


GROUP = PodGroup(
    uid="uid-group",
    name="llm",
    engine="Coscheduling",
    namespace="team-a",
    api_version="scheduling.x-k8s.io/v1alpha1",
    is_ours=True,
)
_MPIJOB = "/apis/kubeflow.org/v2beta1/namespaces/team-a/mpijobs/llm"
_QUEUE = LocalQueue(uid="uid-main", name="main", namespace="team-a", resource_version="41")
CASES: dict[str, tuple[Verb, Any, Store, Any]] = {
    "kill": (KILL, RUNNING, tables(), NoOptions()),
    "kill with its group": (KILL, RUNNING, tables(podgroups=(GROUP,)), NoOptions()),
    "kill a gang of pods": (
        KILL,
        job("r0", kind="Pod", api_version="v1", pod_uids=("uid-r0",)),
        store_of(*gang_of(2)),
        NoOptions(),
    ),
    "suspend": (SUSPEND, RUNNING, tables(), NoOptions()),
    "suspend through Kueue": (SUSPEND, *_kueue_job(), NoOptions()),
    "resume through Kueue": (RESUME, *_kueue_job(is_active=False), NoOptions()),
    "stop a queue": (STOP, _QUEUE, Store(), StopOptions()),
}


@pytest.mark.parametrize("name", CASES)
async def test_a_verb_names_the_rights_that_its_calls_need(name: str) -> None:
    verb, thing, store, options = CASES[name]
    known = planning(store, Busy({_MPIJOB: mpijob()}))
    plan = await plan_of(verb, known, thing, options)
    assert _bare(verb.planner.needs(known, thing)) == _bare(rights_of(plan))


def _bare(rights: Sequence[Right]) -> set[Right]:
    """Without names: who may delete one pod of a gang may delete each."""
    return {Right(one.verb, one.group, one.resource, one.subresource, one.namespace) for one in rights}


# ---- words


async def test_the_line_of_many_says_what_is_done_to_them() -> None:
    """It left the options out: the same line without `--priority` is refused."""
    jobs = [job(f"j{at}", pod_uids=(f"uid-p{at}",)) for at in range(2)]
    store = store_of(*(pod(f"p{at}") for at in range(2)))

    def of(one: Any) -> Make:
        async def make(*, reads: bool = False) -> Plan:
            return Plan(verb="prioritise", title=f"Prioritise {one.name}", calls=())

        return make

    more = PRIORITISE.option_words(PriorityOptions("high"))
    bulk = await make_bulk_plan(PRIORITISE, jobs, of, store, more=more)
    assert bulk.face.shell == (
        "cockpit job prioritise mpijob/team-a/j0 mpijob/team-a/j1 --priority high --write"
    )
    parsed = cli.build_parser().parse_args(bulk.face.shell.split()[1:])
    assert isinstance(parsed, argparse.Namespace) and parsed.verb == "job.prioritise"


def test_the_line_of_a_prune_keeps_the_names_that_narrowed_it() -> None:
    """It named the age alone: repeated from the audit it would have deleted every old job."""
    line = picking_line(PRUNE, PruneOptions("7d"), "prod", ("team-a/llm",), "gpus>4")
    assert line == "cockpit job prune team-a/llm --older-than 7d --filter 'gpus>4' --context prod --write"


def test_switches_and_what_is_empty() -> None:
    assert STOP.option_words(StopOptions(drain=True)) == ("--drain",)
    assert STOP.option_words(StopOptions()) == ()


@pytest.mark.parametrize("text", ["soon", "-1h", ""])
def test_an_age_that_is_none_is_told_by_its_option(text: str) -> None:
    with pytest.raises(BadInput, match=r"--older-than: .* is not a valid age; write for example 12h or 7d"):
        PruneOptions(text)
