"""What a GPU waits for, by the CPU and the network of its worker; nothing is told where nothing tells."""

import msgspec
import pytest
from cockpit_widgets.types import Cell, Pair

from cockpit.model.batch import Batch
from cockpit.model.pod import Pod
from cockpit.model.pod_use import PodUse
from cockpit.model.quantity import Absent, Reading
from cockpit.model.record import Kind
from cockpit.store.store import Store
from cockpit.views import job_grid, job_page, worker_use
from cockpit.views.view_state import ViewState
from cockpit.views.worker_use import DATA, EITHER, NETWORK
from tests.unit.views.builders import NOW, card, node, pod, store
from tests.unit.views.builders import job as job_row

NC = Absent.NOT_COLLECTED


@pytest.mark.parametrize(
    ("duty", "cpu", "received", "sent", "waits"),
    [
        (0.95, 8.0, 2e9, 2e9, ""),  # busy cards wait for nothing
        (NC, 8.0, 2e9, 2e9, ""),
        (Absent.STALE, 8.0, 2e9, 2e9, ""),
        (0.5, 2.0, 2e9, 1.8e9, NETWORK),  # both ways alike: gradients
        (0.5, 2.0, 1e9, 2e9, NETWORK),
        (0.5, 7.5, 2e9, 2e9, EITHER),
        (0.3, 7.5, 1e6, 1e6, DATA),  # the loader is at the end of its CPU
        (0.3, 7.5, NC, NC, DATA),
        (0.3, 2.0, 9e8, 3e7, DATA),  # fed over the network
        (0.3, 2.0, 3e7, 9e8, ""),  # a checkpoint is written
        (0.3, 2.0, 1e6, 1e6, ""),
        (0.3, NC, NC, NC, ""),
        (0.3, 2.0, 9e8, NC, ""),  # one way alone says nothing
        (0.0, 0.0, 0.0, 0.0, ""),
    ],
)
def test_what_it_waits_for(duty: Reading, cpu: Reading, received: Reading, sent: Reading, waits: str) -> None:
    worker = pod("w", cpu_millicores=8_000)
    assert worker_use.waits_for(duty, worker, use("w", cpu, received, sent)) == waits


def test_without_a_request_cpu_says_nothing() -> None:
    assert worker_use.waits_for(0.3, pod("w"), use("w", 64.0, 0.0, 0.0)) == ""


def use(name: str, cpu: Reading, received: Reading, sent: Reading) -> PodUse:
    return PodUse(
        uid=f"uid-{name}",
        key=f"team-a/{name}",
        cpu_cores=cpu,
        receive_bytes_per_second=received,
        transmit_bytes_per_second=sent,
    )


def job(*uses: PodUse) -> tuple[Store, list[Pod]]:
    made = store(
        node(gpus=8),
        *(pod(f"w-{at}", gpus=1, rank=at, role="worker", cpu_millicores=8_000) for at in range(3)),
        pod("launcher", gpus=0, role="launcher"),
        *(card(at, f"w-{at}", duty=0.4) for at in range(3)),
    )
    made.apply(Batch(kind=Kind.POD_USE, changed=uses))
    found = [made.by_key(Kind.POD, f"team-a/{name}") for name in ("launcher", "w-0", "w-1", "w-2")]
    return made, [one for one in found if isinstance(one, Pod)]


def test_the_page_says_on_how_many_workers_and_the_means() -> None:
    made, members = job(use("w-0", 2.0, 2e9, 1e9), use("w-1", 4.0, 1e9, 2e9), use("w-2", 6.0, 3e9, 1e8))
    assert worker_use.fact(members, made) == Pair(
        "workers",
        "GPUs wait for the network on 2 of 3 · GPUs wait for data on 1 of 3 · CPU 4.0 cores · in 2.0GB/s · "
        "out 1.0GB/s",
        "warn",
    )
    made, members = job(*(use(f"w-{at}", 8.0, 1.0, 1.0) for at in range(3)))
    found = worker_use.fact(members, made)
    assert found is not None
    assert found.value.startswith("GPUs wait for data on each · CPU 8.0 cores")


def test_where_nobody_exports_it_the_page_says_so() -> None:
    made, members = job()
    assert worker_use.fact(members, made) == Pair("workers", "CPU and network n/c", "dim")
    assert worker_use.fact(members[:1], made) is None


def test_the_grid_has_it_beside_each_card() -> None:
    made, members = job(use("w-0", 7.6, 3e9, 1e8), use("w-1", NC, 0.0, 1234.0))
    table = job_grid.table(members, made, ViewState(), NOW)
    ids = [one.id for one in table.columns]
    rows = [dict(zip(ids, table.cells(at), strict=True)) for at in range(len(table))]
    shown = [tuple(one[name].text for name in ("cpu", "received", "sent", "waits")) for one in rows]
    assert shown == [
        ("7.6/8", "3.0GB/s", "100MB/s", "data"),
        ("n/c", "0B/s", "1.2kB/s", ""),
        ("n/c", "n/c", "n/c", ""),
    ]
    assert rows[0]["cpu"] == Cell("7.6/8", "warn")


def test_the_jobs_page_draws_its_last_hour_where_somebody_remembers_it() -> None:
    made, members = job()
    one = job_row("llm", gpus_allocated=3)
    pairs = {pair.name: pair for pair in job_page.facts(one, made, NOW, members, (0.0, 0.5, None, 1.0) * 15)}
    line = pairs["last hour"].value.removeprefix("duty ")
    assert len(line) == 30
    assert len(set(line)) > 1
    assert "workers" in pairs
    assert "last hour" not in {pair.name for pair in job_page.facts(one, made, NOW, members, (None, None))}
    idle = msgspec.structs.replace(one, gpus_allocated=0)
    assert "last hour" not in {pair.name for pair in job_page.facts(idle, made, NOW, members, (0.5,))}
