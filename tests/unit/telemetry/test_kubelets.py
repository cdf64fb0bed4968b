"""CPU and network from the kubelets themselves: rates of counters, and what is no counter of the pod's."""

from cockpit.clock import ClusterTime, ManualClock
from cockpit.errors import Refused
from cockpit.model.pod_use import PodUse
from cockpit.model.quantity import Absent
from cockpit.telemetry.kubelets import AGAIN_SECONDS, KubeletPages
from tests.unit.telemetry.builders import NOW, pod

Query = tuple[tuple[str, str], ...]


class Kubelets:
    """Pages by node; a node without one refuses."""

    def __init__(self) -> None:
        self.clock = ManualClock(NOW)
        self.pages: dict[str, str] = {}
        self.asked: list[str] = []

    async def read(self, path: str, query: Query, most_bytes: int) -> bytes:
        self.asked.append(path)
        node = path.removeprefix("/api/v1/nodes/").removesuffix("/proxy/metrics/cadvisor")
        if node not in self.pages:
            raise Refused("Read-only: proxy on nodes is not sent.")
        return self.pages[node].encode()


def page(cpu: float, received: float, sent: float, *, pod_name: str = "w-0", stamp: str = "") -> str:
    of = f'namespace="team-a",pod="{pod_name}"'
    return f"""# TYPE container_cpu_usage_seconds_total counter
container_cpu_usage_seconds_total{{container="",cpu="total",{of}}} {2 * cpu}{stamp}
container_cpu_usage_seconds_total{{container="POD",cpu="total",{of}}} 5{stamp}
container_cpu_usage_seconds_total{{container="main",cpu="total",{of}}} {cpu - 1}{stamp}
container_cpu_usage_seconds_total{{container="main",cpu="cpu03",{of}}} {cpu}{stamp}
container_cpu_usage_seconds_total{{container="sidecar",cpu="total",{of}}} 1{stamp}
container_memory_working_set_bytes{{container="main",{of}}} 7
container_network_receive_bytes_total{{interface="eth0",{of}}} {received}{stamp}
container_network_receive_bytes_total{{interface="lo",{of}}} 9e15{stamp}
container_network_transmit_bytes_total{{interface="eth0",{of}}} {sent}{stamp}
container_network_transmit_bytes_total{{interface="eth0",namespace="team-a",pod="stranger"}} 9e15{stamp}
"""


async def test_two_readings_make_a_rate_and_one_makes_none() -> None:
    kubelets = Kubelets()
    pages = KubeletPages(kubelets.read, kubelets.clock)
    worker = pod("w-0")
    kubelets.pages["gpu-1"] = page(100, 1e9, 2e9)
    assert await pages.uses([worker]) == []
    kubelets.clock.advance(10)
    kubelets.pages["gpu-1"] = page(180, 3e9, 2.5e9)
    assert await pages.uses([worker]) == [
        PodUse(
            uid=worker.uid,
            key="team-a/w-0",
            cpu_cores=8.0,
            receive_bytes_per_second=2e8,
            transmit_bytes_per_second=5e7,
        )
    ]


async def test_the_same_reading_again_changes_nothing_and_a_new_start_begins_anew() -> None:
    kubelets = Kubelets()
    pages = KubeletPages(kubelets.read, kubelets.clock)
    worker = pod("w-0")
    for at, cpu in ((0, 100.0), (10, 180.0), (10, 180.0)):
        kubelets.pages["gpu-1"] = page(cpu, 1, 1, stamp=f" {int(1000 * (NOW + at))}")
        found = await pages.uses([worker])
    assert [one.cpu_cores for one in found] == [8.0]
    kubelets.pages["gpu-1"] = page(3, 1, 1, stamp=f" {int(1000 * (NOW + 20))}")
    assert await pages.uses([worker]) == []


async def test_a_pod_of_which_nothing_is_told_has_no_number() -> None:
    kubelets = Kubelets()
    pages = KubeletPages(kubelets.read, kubelets.clock)
    kubelets.pages["gpu-1"] = "# nothing\n"
    assert await pages.uses([pod("w-0"), pod("w-1", on="")]) == []
    text = 'container_cpu_usage_seconds_total{container="main",namespace="team-a",pod="w-0"} '
    for value in (10, 20):
        kubelets.clock.advance(10)
        kubelets.pages["gpu-1"] = f"{text}{value}\n"
        found = await pages.uses([pod("w-0")])
    assert [one.receive_bytes_per_second for one in found] == [Absent.NOT_COLLECTED]


async def test_kubelets_that_may_not_be_asked_are_left_alone_for_a_while() -> None:
    kubelets = Kubelets()
    pages = KubeletPages(kubelets.read, kubelets.clock)
    for _ in range(5):
        assert await pages.uses([pod("w-0")]) == []
        kubelets.clock.advance(5)
    assert len(kubelets.asked) == 1
    kubelets.clock.advance(AGAIN_SECONDS)
    await pages.uses([pod("w-0")])
    assert len(kubelets.asked) == 2


async def test_a_job_of_many_nodes_asks_so_many_only() -> None:
    kubelets = Kubelets()
    pages = KubeletPages(kubelets.read, kubelets.clock)
    await pages.uses([pod(f"w-{number}", on=f"gpu-{number // 2}") for number in range(200)])
    assert len(kubelets.asked) == len(set(kubelets.asked)) == 20


async def test_two_rounds_make_a_rate_where_the_clusters_time_runs_faster() -> None:
    kubelets = Kubelets()
    kubelets.clock.hear(ClusterTime(NOW, 0.0, 60.0), NOW, NOW)
    pages = KubeletPages(kubelets.read, kubelets.clock)
    worker = pod("w-0")
    kubelets.pages["gpu-1"] = page(100, 1e9, 2e9)
    assert await pages.uses([worker]) == []
    for cpu in (2_500, 4_900):  # rounds are five seconds apart here and five minutes there
        kubelets.clock.advance(5)
        kubelets.pages["gpu-1"] = page(cpu, 3e9, 2.5e9)
        (use,) = await pages.uses([worker])
        assert use.cpu_cores == 8.0


async def test_a_reading_of_an_hour_ago_makes_no_rate_of_now() -> None:
    kubelets = Kubelets()
    pages = KubeletPages(kubelets.read, kubelets.clock)
    kubelets.pages["gpu-1"] = page(100, 1e9, 2e9)
    await pages.uses([pod("w-0")])
    kubelets.clock.advance(3_600)
    kubelets.pages["gpu-1"] = page(180, 3e9, 2.5e9)
    assert await pages.uses([pod("w-0")]) == []
