"""The way of a job to its first step, its progress, how it ended and who owns it."""

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from cockpit_widgets.types import Pair, Tone

from cockpit.jobs.progress import Patterns, Progress
from cockpit.jobs.run_log import FirstStep, first_step, last_error, patterns_for
from cockpit.jobs.template import ProgressPattern, load_library
from cockpit.jobs.training.run import Checkpoints
from cockpit.model.batch import Batch
from cockpit.model.event import Event
from cockpit.model.gang import Workload
from cockpit.model.job import Job, JobObject, JobState, OwnerObject
from cockpit.model.log import LogLine, LogSource
from cockpit.model.pod import Pod
from cockpit.model.pod_times import PodTimes
from cockpit.model.record import Condition, Kind, OwnerRef
from cockpit.store.store import Store
from cockpit.views.timeline import Run, chain, end_words, facts, merged, progress_words, steps, words

T0 = 1_790_000_000.0
API = "kubeflow.org/v2beta1"
JOB = Job(
    key="mpijob.kubeflow.org/team-a/llm", uid="u-llm", api_version=API, kind="MPIJob", namespace="team-a",
    name="llm", created_seconds=T0, workload_uid="wl",
)  # fmt: skip
WORKLOAD = Workload(
    uid="wl",
    name="wl",
    namespace="team-a",
    conditions=(Condition("Admitted", "True", changed_seconds=T0 + 2),),
)


def pod(name: str, **more: Any) -> Pod:
    return Pod(uid=f"u-{name}", name=name, namespace="team-a", **{"node": "n1", **more})


LAUNCHER = pod(
    "llm-launcher-x", role="launcher", owner_kind="Job", owner_uid="u-job", owner_name="llm-launcher"
)
WORKERS = tuple(pod(f"llm-worker-{n}", role="worker", rank=n, owner_uid="u-llm") for n in range(2))
MEMBERS = (LAUNCHER, *WORKERS)


def event(of: Pod, reason: str, after: float) -> Event:
    name, at = f"{of.uid}-{reason}-{after}", T0 + after
    return Event(
        uid=name,
        name=name,
        reason=reason,
        object_uid=of.uid,
        object_kind="Pod",
        first_seconds=at,
        last_seconds=at,
    )


def store_with(*events: Event) -> Store:
    store = Store()
    store.apply(Batch(kind=Kind.EVENT, changed=events))
    return store


def every(reason: str, *after: float) -> list[Event]:
    return [event(one, reason, seconds) for one, seconds in zip(MEMBERS, after, strict=True)]


def test_every_station_as_events_tell_it() -> None:
    store = store_with(
        *every("Scheduled", 9, 5, 6), *every("Pulling", 10, 6, 7), *every("Pulled", 12, 41, 40),
        *every("Started", 50, 43, 42), event(WORKERS[0], "Started", 600),
    )  # fmt: skip
    found = steps(JOB, WORKLOAD, MEMBERS, store, Run(first=FirstStep(T0 + 61, Progress(step=1))))
    assert words(found) == (
        "admitted +2s → first bound +5s → all bound +9s → image +41s (35s to pull) → containers +50s"
        " → launcher +50s → first step +1m01s"
    )
    early = steps(JOB, WORKLOAD, MEMBERS, store, Run(first=FirstStep(T0 + 45, Progress(step=1))))
    assert words(early).endswith(
        "image +41s (35s to pull) → first step +45s → containers +50s → launcher +50s"
    )
    skewed = steps(JOB, WORKLOAD, MEMBERS, store, Run(first=FirstStep(T0 - 3, Progress(step=1))))
    assert words(skewed).startswith("first step +0s → admitted +2s")


def test_what_nobody_tells_any_more_is_never_a_number() -> None:
    members = (LAUNCHER, pod("llm-worker-0", role="worker", rank=0, started_seconds=T0 + 8))
    found = steps(JOB, None, members, Store(), Run(first=FirstStep(T0 + 7_200, Progress(epoch=3), False)))
    assert words(found) == (
        "first bound +8s → all bound: ? → containers: ? → launcher: ? → first step before +2h00m00s"
    )


def test_what_has_not_come_yet_says_so() -> None:
    held = Workload(uid="w", name="w", conditions=(Condition("Admitted", "False", changed_seconds=T0),))
    assert words(steps(JOB, held, (), Store(), Run())) == "admitted: not yet"
    unbound = [pod(f"w-{n}", role="worker", rank=n, node="", phase="Pending") for n in range(2)]
    assert words(steps(JOB, WORKLOAD, unbound, Store(), Run())) == "admitted +2s → bound to a node: not yet"
    half = [unbound[0], pod("w-1", role="worker", rank=1, phase="Pending", started_seconds=T0 + 9)]
    assert words(steps(JOB, None, half, Store(), Run())) == (
        "first bound +9s → all bound: not yet → containers: not yet → first step: not seen"
    )


@pytest.mark.parametrize("state", sorted(JobState.ENDED))
def test_what_did_not_come_before_the_job_ended_never_will(state: str) -> None:
    ended = msgspec.structs.replace(JOB, state=state)
    held = msgspec.structs.replace(WORKLOAD, conditions=(Condition("Admitted", "False"),))
    assert words(steps(ended, held, (), Store(), Run())) == "admitted: never"
    unbound = (LAUNCHER, msgspec.structs.replace(WORKERS[0], node=""))
    told = words(steps(ended, WORKLOAD, unbound, Store(), Run()))
    assert "all bound: never" in told and "not yet" not in told


def again(admitted: float, bound: float) -> tuple[Workload, Store]:
    """A job that was suspended and came back: its workload, and what events tell of its new pods."""
    conditions = (Condition("Admitted", "True", changed_seconds=T0 + admitted), Condition("Evicted", "False"))
    workload = msgspec.structs.replace(WORKLOAD, conditions=conditions)
    store = store_with(*every("Scheduled", bound, bound, bound))
    store.apply(Batch(kind=Kind.WORKLOAD, changed=(workload,)))
    return workload, store


def first_of(store: Store, first_after: float) -> Pair:
    run = Run(first=FirstStep(T0 + first_after, Progress(step=1)))
    return next(one for one in facts(JOB, MEMBERS, store, run) if one.name == "first step")


def test_the_first_step_of_a_resumed_job_is_that_of_its_first_run() -> None:
    workload, store = again(3_600, 3_605)
    found = steps(JOB, workload, MEMBERS, store, Run(first=FirstStep(T0 + 50, Progress(step=1))))
    assert words(found).startswith("first step +50s → admitted again +1h00m00s → first bound +1h00m05s")
    assert first_of(store, 50).value == "50s (goal 60s)"


def test_the_first_step_after_a_job_came_back_counts_from_then() -> None:
    _, store = again(3_600, 3_605)
    assert first_of(store, 3_631) == Pair("first step", "31s after it was admitted again")


def test_without_a_queue_the_parts_of_later_pods_are_none_of_the_first_run() -> None:
    store = store_with(*every("Scheduled", 600, 601, 602))
    job = msgspec.structs.replace(JOB, workload_uid="")
    run = Run(first=FirstStep(T0 + 50, Progress(step=1)))
    told = {one.name: one.value for one in facts(job, MEMBERS, store, run)}
    assert told["first step"] == "50s (goal 60s)"


def bare(conditions: tuple[Condition, ...] = (), *, failed: int = 0) -> tuple[Job, Store]:
    """The job without a queue, its object, its launcher's Job, and pods that are of ten minutes later."""
    store = store_with(*every("Scheduled", 600, 601, 602), *every("Started", 603, 603, 603))
    object_ = JobObject(
        uid="u-llm", name="llm", namespace="team-a", api_version=API, kind="MPIJob", conditions=conditions
    )
    launchers = JobObject(
        uid="u-job", name="llm-launcher", namespace="team-a", api_version="batch/v1", kind="Job",
        failed=failed,
    )  # fmt: skip
    store.apply(Batch(kind=Kind.MPIJOB, changed=(object_,)))
    store.apply(Batch(kind=Kind.JOB, changed=(launchers,)))
    return msgspec.structs.replace(JOB, workload_uid=""), store


def told_of(job: Job, store: Store, run: Run, members: tuple[Pod, ...] = MEMBERS) -> dict[str, str]:
    return {one.name: one.value for one in facts(job, members, store, run)}


def test_without_a_queue_the_steps_of_a_resumed_job_count_from_its_resume() -> None:
    job, store = bare((Condition("Suspended", "False", "MPIJobResumed", changed_seconds=T0 + 598),))
    first = FirstStep(T0 + 38, Progress(step=10))
    told = told_of(job, store, Run(first=first))
    assert told["first step"] == "38s (goal 60s)"
    assert told["timeline"].startswith("first step +38s → resumed +9m58s → first bound +10m00s → ")
    assert told["timeline"].endswith("→ first step: not yet")
    told = told_of(job, store, Run(first=first, went_on_seconds=T0 + 624))
    assert told["first step"] == "38s (goal 60s) · 26s after it was resumed"
    assert told["timeline"].endswith("→ first step +10m24s")
    late = FirstStep(T0 + 624, Progress(step=310))
    told = told_of(job, store, Run(first=late, went_on_seconds=T0 + 624))
    assert told["first step"] == "26s after it was resumed", "opened later, only this run's log is there"
    assert told["timeline"].count("first step") == 1


def test_a_launcher_that_is_tried_again_begins_anew() -> None:
    job, store = bare(failed=1)
    launcher = msgspec.structs.replace(LAUNCHER, created_seconds=T0 + 599)
    run = Run(first=FirstStep(T0 + 630, Progress(step=10)), went_on_seconds=T0 + 630)
    told = told_of(job, store, run, (launcher, *WORKERS))
    assert told["first step"] == "31s after it was tried again"
    assert "tried again +9m59s" in told["timeline"]


def test_the_status_of_a_pod_tells_what_events_do_not() -> None:
    times = {
        one.uid: PodTimes(bound_seconds=T0 + 4 + n, started_seconds=T0 + 20 + n)
        for n, one in enumerate(MEMBERS)
    }
    found = {step.name: step.at_seconds for step in steps(JOB, None, MEMBERS, Store(), Run(times=times))}
    assert found["first bound"] == T0 + 4 and found["all bound"] == T0 + 6
    assert found["containers"] == T0 + 22 and found["launcher"] == T0 + 20
    again = {one.uid: PodTimes(T0 + 4, T0 + 900, restarts=1) for one in MEMBERS}
    found = {step.name: step.at_seconds for step in steps(JOB, None, MEMBERS, Store(), Run(times=again))}
    assert found["containers"] is None, "the start of a later run is not the first one"


@pytest.mark.parametrize(
    ("now", "text"),
    [
        (
            Progress(
                epoch=31, epochs=90, step=1_590, steps=5_005, loss=2.154, rate=9_919.4, rate_unit="images/s"
            ),
            "epoch 31/90 · step 1,590/5,005 · 34% · loss 2.154 · 9,919 images/s",
        ),
        (Progress(step=7, rate=0.5, rate_unit="it/s"), "step 7 · 0.5 it/s"),
        (Progress(loss=1e-7), "loss 1e-07"),
        (Progress(), ""),
    ],
)
def test_progress(now: Progress, text: str) -> None:
    assert progress_words(now) == text


def test_exit_codes_worst_first() -> None:
    ended = [
        pod(f"w-{n}", role="worker", rank=n, exit_code=0, terminated_reason="Completed") for n in range(6)
    ]
    killed = [
        pod(f"k-{n}", role="worker", rank=n, exit_code=137, terminated_reason="OOMKilled") for n in (7, 8)
    ]
    one = pod("l", role="launcher", exit_code=1, terminated_reason="Error")
    assert (
        end_words([*ended, *killed, one]) == "137 OOMKilled: worker-7, worker-8 · 1: launcher · 0: 6 members"
    )
    assert end_words(WORKERS) == ""


def test_who_owns_whom() -> None:
    store = Store()
    workflow = OwnerRef("argoproj.io/v1alpha1", "Workflow", "nightly", "u-wf")
    job = JobObject(
        uid="u-job", name="llm-launcher", api_version="batch/v1", kind="Job",
        owner=OwnerRef(API, "MPIJob", "llm", "u-llm"),
    )  # fmt: skip
    mpi = JobObject(uid="u-llm", name="llm", api_version=API, kind="MPIJob", owner=workflow)
    store.apply(Batch(kind=Kind.JOB, changed=(job,)))
    store.apply(Batch(kind=Kind.MPIJOB, changed=(mpi,)))
    text = "3 pods → Job llm-launcher → MPIJob llm → Workflow nightly"
    assert chain(JOB, MEMBERS, store) == text
    store.apply(Batch(kind=Kind.OWNER, changed=(
        OwnerObject(uid="u-wf", name="nightly", api_version="argoproj.io/v1alpha1", kind="Workflow",
                    owner=OwnerRef(API, "MPIJob", "llm", "u-llm")),
    )))  # fmt: skip
    assert chain(JOB, MEMBERS, store) == text, "a ring ends"
    assert chain(JOB, WORKERS, Store()) == ""


def test_the_pairs_of_a_page() -> None:
    run = Run(Progress(step=5), None, "RuntimeError: NCCL", "worker 1")
    members = (LAUNCHER, pod("llm-worker-1", role="worker", rank=1, exit_code=1))
    more = facts(JOB, members, Store(), run)
    assert [(one.name, one.tone) for one in more] == [
        ("progress", "good"), ("exit codes", "bad"), ("last output", "bad"), ("timeline", ""),
    ]  # fmt: skip
    page = [Pair("job", "x"), Pair("now", "x"), Pair("nodes", "x"), Pair("time", "x"), Pair("owner", "x")]
    assert [one.name for one in merged(page, more)] == [
        "job", "now", "progress", "exit codes", "last output", "nodes", "time", "timeline", "owner",
    ]  # fmt: skip
    assert facts(JOB, (), Store(), Run(trouble="No log of a/b: waiting")) == [
        Pair("log", "No log of a/b: waiting", "dim")
    ]


@pytest.mark.parametrize(
    ("state", "told", "value", "tone"),
    [
        (JobState.RUNNING, Checkpoints(70, T0), "step 70, 5 steps ago", ""),
        (JobState.RUNNING, Checkpoints(75, T0), "step 75", ""),
        (JobState.SUSPENDED, Checkpoints(75, T0), "step 75", ""),
        (JobState.SUSPENDED, Checkpoints(70, T0), "step 70 counts: 5 steps after it are lost", "warn"),
        (JobState.FAILED, Checkpoints(74, T0), "step 74 counts: 1 step after it is lost", "warn"),
        (JobState.SUCCEEDED, Checkpoints(70, T0), "step 70", ""),
        (
            JobState.RUNNING,
            Checkpoints(75, T0, "checkpoint-80.pt: it was cut"),
            "step 75 · refused checkpoint-80.pt: it was cut",
            "warn",
        ),
        (
            JobState.RUNNING,
            Checkpoints(None, None, "a.pt: cut"),
            "none whole: it starts over · refused a.pt: cut",
            "warn",
        ),
    ],
)
def test_which_checkpoint_counts(state: str, told: Checkpoints, value: str, tone: Tone) -> None:
    job = msgspec.structs.replace(JOB, state=state)
    pairs = facts(job, (), Store(), Run(Progress(step=75), checkpoints=told))
    assert pairs[1] == Pair("checkpoint", value, tone)
    assert [one.name for one in facts(job, (), Store(), Run(Progress(step=75)))] == ["progress"]


# ---- what the logs tell

OOM = "torch.cuda.OutOfMemoryError: CUDA out of memory"
FAULT = "bash: line 1: 42 Segmentation fault (core dumped)"
SOURCE = LogSource("u", "team-a", "p", "launcher")
PATTERNS = (
    ProgressPattern("step", r"step (?P<step>[0-9]+)"),
    ProgressPattern("e", r"epoch (?P<epoch>[0-9]+)"),
)


def line(text: str, after: float = 0.0) -> LogLine:
    return LogLine(SOURCE, text, int((T0 + after) * 1e9))


def test_the_first_step_is_the_first_line_that_tells_one() -> None:
    patterns = Patterns(PATTERNS)
    found = first_step(patterns, [line("hello"), line("epoch 1 step 50", 60), line("epoch 1 step 100", 70)])
    assert found == FirstStep(T0 + 60, Progress(epoch=1, step=50), True)
    late = first_step(patterns, [line("epoch 31 step 50", 60)])
    assert late is not None and not late.is_first
    assert first_step(patterns, [line("hello")]) is None


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["Traceback (most recent call last):", "RuntimeError: NCCL", "----", ""], "RuntimeError: NCCL"),
        ([OOM, "bye"], OOM),
        (["loading", FAULT, "=====", "job ended"], FAULT),
        (["step 1", "step 2", "-----", "   "], "step 2"),
        (["no errors so far", "fine"], "fine"),
        (["----", ""], ""),
        ([], ""),
    ],
)  # fmt: skip
def test_last_words(lines: list[str], told: str) -> None:
    assert last_error(lines) == told


def test_the_last_words_are_those_of_the_rank_that_failed_not_of_its_launcher() -> None:
    launcher = [
        "Process 0 exit with status code 2.",
        "RuntimeError: Horovod detected that one or more processes exited with non-zero status",
        "Process name: 0",
        "Exit code: 2",
    ]
    folder = "[0]<stderr>:data: /nowhere is no folder: mount the claim there, or leave --data out"
    assert last_error(["[0]<stdout>:started rank=0 size=2", folder, *launcher]) == folder
    shut = "[1]<stderr>:horovod.common.exceptions.HorovodInternalError: Horovod has been shut down. This was"
    trace = ["[1]<stderr>:Traceback (most recent call last):", '[1]<stderr>:  File "train.py", line 1', shut]
    memory = "[0]<stderr>:torch.OutOfMemoryError: CUDA out of memory"
    assert last_error([memory, *trace, *launcher]) == memory
    assert last_error([*trace, *launcher]) == shut
    assert last_error(launcher) == launcher[1]
    for shell in (
        "[1]<stderr>:Terminated",
        "[1]<stderr>:/app/run.sh: line 3: 4711 Terminated python train.py",
    ):
        assert last_error([folder, shell, *launcher]) == folder


def test_a_line_of_a_megabyte_is_not_walked_through() -> None:
    assert len(last_error(["x" * (1 << 20)])) == 2_000


def test_patterns_come_from_templates_of_the_same_kind() -> None:
    templates = load_library().templates.values()
    mpi = patterns_for("MPIJob", "kubeflow.org/v1", templates)
    assert {one.name for one in mpi} >= {"epoch", "step", "loss", "images"}
    assert len({one.pattern for one in mpi}) == len(mpi)
    assert patterns_for("Notebook", "kubeflow.org/v1", templates), (
        "of all, where no template makes such a thing"
    )
    own = SimpleNamespace(kind="MPIJob", api_version=API, progress=(ProgressPattern("own", "(?P<step>x)"),))
    assert [one.name for one in patterns_for("MPIJob", API, [own])] == ["own"]  # type: ignore[list-item]
