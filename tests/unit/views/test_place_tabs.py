"""The counts in the tabs: what they count, and what they say of what is not known."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from cockpit_widgets.types import Tab

from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.finding import Finding, Subject
from cockpit.model.job import Job, JobState
from cockpit.model.job_reader import JobReader
from cockpit.model.namespaces import Namespaces
from cockpit.model.record import Kind
from cockpit.model.remembered import Acknowledgement
from cockpit.store.store import Store
from cockpit.triage.troubles import Trouble
from cockpit.views.place_tabs import PlaceCounts, open_problems, place_counts, tab_key, tabs
from tests.unit.views.builders import NOW, cluster_queue, job, live, local_queue, node, pod, store

EVERY = (Kind.NODE, Kind.POD, Kind.LOCAL_QUEUE, Kind.CLUSTER_QUEUE)
KNOWN = Acknowledgement(subject_key="k", finding="job-waits", made_seconds=NOW, note="", who="ada")


def cluster() -> Store:
    """Two GPU nodes are in trouble and one is to come; a queue is stopped."""
    return live(
        store(
            node("gpu-1", 8),
            node("gpu-2", 8, gpu_allocatable=7),
            node("gpu-3", 8, ready="Unknown"),
            node("gpu-4", 8, unschedulable=True),
            node("gpu-5", None, ready="", gpus_expected=8, gpu_resource="nvidia.com/gpu"),
            node("cpu-1", None, ready="False"),
            pod("runs", gpus=4),
            pod("was-there", gpus=8, on="gpu-3"),
            cluster_queue("gpus"),
            cluster_queue("stopped", stop_policy="Hold"),
            local_queue("gpu-lq", "gpus"),
            local_queue("other-lq", "stopped", namespace="team-b"),
        ),
        *EVERY,
    )


def rows(*found: Job) -> JobReader:
    return cast(JobReader, SimpleNamespace(jobs={one.key: one for one in found}))


JOBS = rows(
    job("a", JobState.PENDING),
    job("b", JobState.PENDING, namespace="team-b"),
    job("c", JobState.QUEUED),
    job("d", JobState.RUNNING),
)


def trouble(name: str, **more: Any) -> Trouble:
    found = Finding(subject=Subject("job", "team-a", name), finding="job-waits", row=name, sentence="waits")
    return Trouble(found=found, first_seconds=NOW, last_seconds=NOW, **more)


def test_each_place_counts_what_needs_attention_there() -> None:
    assert place_counts(cluster(), JOBS) == PlaceCounts(None, 2, 2, 1, 1)


def test_of_the_namespaces_shown() -> None:
    found = place_counts(cluster(), JOBS, Namespaces(("team-a",)))
    assert (found.jobs, found.queues) == (1, 0)


def test_of_now_what_is_open_and_not_acknowledged() -> None:
    found = (trouble("a"), trouble("b", is_resolved=True), trouble("c", acknowledged=KNOWN))
    assert open_problems(cluster(), found) == 1
    assert open_problems(cluster(), ()) == 0
    assert open_problems(cluster(), None) is None


@pytest.mark.parametrize("phase", [Phase.DENIED, Phase.CONNECTING, Phase.LISTING])
@pytest.mark.parametrize(
    ("kind", "unknown"),
    [
        (Kind.POD, ("now", "jobs")),
        (Kind.NODE, ("now", "nodes", "pools")),
        (Kind.CLUSTER_QUEUE, ("queues",)),
        (Kind.LOCAL_QUEUE, ("queues",)),
    ],
)
def test_what_is_not_listed_is_unknown_and_never_none(
    kind: str, unknown: tuple[str, ...], phase: Phase
) -> None:
    made = cluster()
    made.apply(Batch(kind=kind, status=StreamStatus(kind=kind, phase=phase)))
    found = place_counts(made, JOBS)._replace(now=open_problems(made, (trouble("a"),)))
    assert {name for name, count in found._asdict().items() if count is None} == set(unknown)
    assert [tab.note for tab in tabs(found)].count("?") == len(unknown)


def test_before_anything_is_known_no_count_is() -> None:
    assert place_counts(Store(), rows()) == PlaceCounts()


def test_a_list_that_went_stale_still_counts() -> None:
    made = cluster()
    made.apply(Batch(kind=Kind.NODE, status=StreamStatus(kind=Kind.NODE, phase=Phase.STALE, objects=6)))
    assert place_counts(made, JOBS).nodes == 2


def test_a_count_follows_its_fact() -> None:
    made = cluster()
    assert place_counts(made, JOBS).queues == 1
    made.apply(Batch(kind=Kind.CLUSTER_QUEUE, changed=(cluster_queue("stopped"),)))
    made.apply(Batch(kind=Kind.NODE, changed=(node("gpu-2", 8), node("gpu-5", 8))))
    assert place_counts(made, JOBS) == PlaceCounts(None, 2, 1, 0, 0)


def test_the_glyph_stands_behind_the_number_and_nothing_behind_none() -> None:
    found = tabs(PlaceCounts(4, 1_204, 0, 1, 2))
    assert [(tab.key, tab.note) for tab in found] == [
        ("1", "4"), ("2", "1,204◔"), ("3", ""), ("4", "1‖"), ("5", "+2"), ("6", ""), ("7", ""), ("8", ""),
    ]  # fmt: skip
    assert found[5] == Tab("6", "Events", "Ev")


def test_a_place_has_the_key_of_its_tab_and_a_page_none() -> None:
    assert [tab_key(name) for name in ("now", "fleet", "job")] == ["1", "8", ""]
