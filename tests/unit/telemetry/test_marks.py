"""Every way in which exporters tell of GPUs, and the mark that each row carries."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest

from cockpit.clock import ManualClock
from cockpit.model.gpu import Gpu, Mark
from cockpit.model.pod import Pod
from cockpit.model.quantity import Absent
from cockpit.model.throttle import BIT_OF
from cockpit.telemetry.cards.round import gpus
from cockpit.telemetry.detail_names import details
from cockpit.telemetry.poller import Poller
from cockpit.telemetry.sample import parse_exposition
from tests.unit.telemetry.builders import (
    ARENA,
    COCKPIT,
    MIB,
    NOW,
    A,
    C,
    SmallCluster,
    card_a,
    card_b,
    node,
    pod,
)

GIB = 1024 * MIB


AMD = {
    "gpu_gfx_activity": 71.0,
    "gpu_used_vram": 40_000.0,
    "gpu_total_vram": 196_592.0,
    "gpu_junction_temperature": 64.0,
    "gpu_package_power": 412.5,
}


INTEL = {"xpum_engine_ratio": 0.71, "xpum_power_watts": 412.5}


def page(values: Mapping[str, float], labels: Mapping[str, str]) -> str:
    """What an exporter prints of one card."""
    inside = ",".join(f'{name}="{value}"' for name, value in labels.items())
    return "".join(f"{name}{{{inside}}} {value}\n" for name, value in values.items())


def amd(index: int = 0, on: str = "gpu-1", holder: str = "", *, prefix: str = "") -> str:
    labels = {
        "gpu_id": str(index),
        "gpu_uuid": f"GPU-{on}-{index}",
        "card_series": "AMD Instinct MI300X OAM",
        "card_model": "102-G30211-0C",
        "hostname": on,
        "pod": holder,
        "namespace": "team-a" if holder else "",
        "container": "main" if holder else "",
        "gpu_partition_id": "0",
    }
    clocks = page({"gpu_clock": 2_100.0}, {**labels, "clock_type": "GPU_CLOCK_TYPE_SYSTEM"}) + page(
        {"gpu_clock": 900.0}, {**labels, "clock_type": "GPU_CLOCK_TYPE_MEMORY"}
    )
    text = page(AMD, labels) + clocks
    return text.replace("gpu_", f"{prefix}gpu_") if prefix == "AMD_" else _prefixed(text, prefix)


def _prefixed(text: str, prefix: str) -> str:
    return "".join(f"{prefix}{line}\n" for line in text.splitlines())


def intel(index: int = 0, on: str = "gpu-1", holder: str = "") -> str:
    labels = {
        "uuid": f"GPU-{on}-{index}",
        "dev_name": "Intel(R) Data Center GPU Max 1550",
        "pci_bdf": "0000:4d:00.0",
        "vendor": "Intel(R) Corporation",
        "node": on,
    }
    if holder:
        labels |= {"kube_pod": holder, "kube_namespace": "team-a", "kube_container": "main"}
    tiles = "".join(
        page({"xpum_memory_used_bytes": 20_000.0 * MIB}, {**labels, "sub_dev": tile}) for tile in "01"
    )
    heat = page({"xpum_temperature_celsius": 64.0}, {**labels, "location": "gpu"})
    heat += page({"xpum_temperature_celsius": 91.0}, {**labels, "location": "memory"})
    return page(INTEL, labels) + tiles + heat


def own(index: int = 0, holder: str = "", **more: str) -> str:
    labels = {
        "gpu": str(index),
        "uuid": f"GPU-gpu-1-{index}",
        "model": "NVIDIA H100 80GB HBM3",
        "node": "gpu-1",
    }
    labels |= {"namespace": "team-a" if holder else "", "pod": holder, "container": "main" if holder else ""}
    return page(COCKPIT, {**labels, **more})


def dcgm(
    values: Mapping[str, float], labels: Callable[..., dict[str, str]], holder: str = "", **more: str
) -> str:
    held = {"pod": holder, "namespace": "team-a", "container": "main"} if holder else {}
    return page(values, labels(0, **held, **more))


MIG = {"GPU_I_PROFILE": "3g.40gb", "GPU_I_ID": "2"}


ENGINE = {"DCGM_FI_PROF_GR_ENGINE_ACTIVE": 0.71, "DCGM_FI_DEV_GPU_UTIL": 0.0, "DCGM_FI_DEV_GPU_TEMP": 64.0}


class Case(NamedTuple):
    """A page, the pods on the node, how many may share a card; the mark and the holder to be shown."""

    text: str
    pods: list[Pod]
    mark: Mark
    holder: str = ""
    sharers: int = 1
    source: str = ""
    age_seconds: float = 0.0
    is_stale: bool = False
    duty: float | None = 0.71
    why: Absent = Absent.NOT_COLLECTED


HELD = [pod("llm-0")]


CASES: dict[str, Case] = {
    "full card, A": Case(dcgm(A, card_a, "llm-0"), HELD, Mark.SURE, "llm-0", source="dcgm A"),
    "full card, B": Case(dcgm(A, card_b, "llm-0"), HELD, Mark.SURE, "llm-0", source="dcgm B"),
    "full card, C": Case(dcgm(C, card_b, "llm-0"), HELD, Mark.SURE, "llm-0", source="dcgm C"),
    "full card, our own": Case(own(0, "llm-0"), HELD, Mark.SURE, "llm-0", source="cockpit"),
    "full card, Arena's exporter": Case(
        page(ARENA, {"uuid": "GPU-1", "minor_number": "0", "node_name": "gpu-1", "pod_name": "llm-0",
                     "namespace_name": "team-a"}),
        HELD, Mark.SURE, "llm-0", source="arena",
    ),
    "full card, AMD": Case(amd(holder="llm-0"), HELD, Mark.SURE, "llm-0", source="amd"),
    "full card, AMD with its prefix": Case(
        amd(holder="llm-0", prefix="amd_"), HELD, Mark.SURE, "llm-0", source="amd"
    ),
    "full card, Intel": Case(intel(holder="llm-0"), HELD, Mark.SURE, "llm-0", source="intel"),
    "free card, A": Case(dcgm(A, card_a), [], Mark.UNALLOCATED, source="dcgm A"),
    "free card, empty labels": Case(own(0), [], Mark.UNALLOCATED, source="cockpit"),
    "free card, AMD": Case(amd(), [], Mark.UNALLOCATED, source="amd"),
    "free card, Intel": Case(intel(), [], Mark.UNALLOCATED, source="intel"),
    "MIG instance": Case(
        dcgm(ENGINE, card_a, "llm-0", **MIG), HELD, Mark.SURE, "llm-0", source="dcgm A"
    ),
    "MIG instance that nobody holds": Case(
        dcgm(ENGINE, card_a, **MIG), [], Mark.UNALLOCATED, source="dcgm A"
    ),
    "time-sliced": Case(
        dcgm(A, card_b, "llm-0"), [pod("llm-0"), pod("llm-1")], Mark.SHARED, "llm-0", 4, "dcgm B"
    ),
    "time-sliced, every pod a series": Case(
        dcgm(A, card_b, "llm-0") + dcgm(A, card_b, "llm-1"),
        [pod("llm-0"), pod("llm-1")], Mark.SHARED, "llm-0", 4, "dcgm B",
    ),
    "time-sliced, unlabeled": Case(
        dcgm(A, card_b), [pod("llm-0"), pod("llm-1")], Mark.NOT_COLLECTED, "", 4, "dcgm B"
    ),
    "MPS": Case(own(0, "llm-0"), [pod("llm-0"), pod("llm-1")], Mark.SHARED, "llm-0", 2, "cockpit"),
    "unlabeled, one pod fits": Case(dcgm(A, card_a), HELD, Mark.GUESSED, "llm-0", source="dcgm A"),
    "unlabeled, two pods could": Case(
        dcgm(A, card_a), [pod("llm-0"), pod("llm-1")], Mark.NOT_COLLECTED, source="dcgm A"
    ),
    "label of a pod that the API does not know": Case(
        dcgm(A, card_a, "gone"), [], Mark.UNALLOCATED, "", source="dcgm A"
    ),
    "label of a pod that has ended": Case(
        dcgm(A, card_a, "llm-0"), [pod("llm-0", phase="Succeeded")], Mark.UNALLOCATED, source="dcgm A"
    ),
    "duplicated series": Case(
        dcgm(A, card_a, "llm-0") * 3, HELD, Mark.SURE, "llm-0", source="dcgm A"
    ),
    "two exporters tell of one card": Case(
        dcgm({**A, "DCGM_FI_DEV_GPU_UTIL": 12.0}, card_a, "llm-0")
        + own(0, "llm-0"), HELD, Mark.SURE, "llm-0", source="cockpit",
    ),
    "stale": Case(
        dcgm(A, card_a, "llm-0"), HELD, Mark.SURE, "llm-0", source="dcgm A", age_seconds=600.0, is_stale=True
    ),
    "not a number": Case(
        dcgm({**A, "DCGM_FI_DEV_GPU_UTIL": float("nan")}, card_a, "llm-0"), HELD, Mark.SURE, "llm-0",
        source="dcgm A", duty=None,
    ),
    "DCGM's blank": Case(
        dcgm({**A, "DCGM_FI_DEV_GPU_UTIL": 9223372036854775794.0}, card_a, "llm-0"), HELD, Mark.SURE, "llm-0",
        source="dcgm A", duty=None,
    ),
    "a share above one": Case(
        dcgm({**A, "DCGM_FI_DEV_GPU_UTIL": 4_100.0}, card_a, "llm-0"), HELD, Mark.SURE, "llm-0",
        source="dcgm A", duty=None, why=Absent.IMPLAUSIBLE,
    ),
}  # fmt: skip


class Pages:
    """A source that answers one page of a certain age."""

    who = "the exporters' pods"
    nothing = complaint = ""
    is_partial = False
    asked = None

    def __init__(self, case: Case) -> None:
        self.case = case

    async def read(self, *_: Any) -> tuple[list[Gpu], float]:
        return gpus(parse_exposition(self.case.text, NOW - self.case.age_seconds)), NOW

    async def details(self, *_: Any) -> list[Any]:
        return []

    async def uses(self, *_: Any) -> list[Any]:
        return []

    async def past(self, *_: Any) -> dict[str, Any]:
        return {}

    async def lately(self, *_: Any) -> dict[str, Any]:
        return {}

    async def lines(self, *_: Any) -> None:
        return None

    async def close(self) -> None:
        """Nothing."""


@pytest.mark.parametrize("name", CASES)
async def test_every_row_carries_the_right_mark(name: str) -> None:
    case = CASES[name]
    shown: list[Gpu] = []
    pods = [*case.pods, pod("agent", on="elsewhere", gpus=0)]  # the list of pods is there
    cluster = SmallCluster([node(gpus=case.sharers, replicas=case.sharers)], pods)
    poller = Poller(Pages(case), lambda batch: shown.extend(batch.changed), ManualClock(NOW), cluster)
    await poller.poll()
    (card,) = shown
    assert (card.mark, card.pod_name) == (case.mark, case.holder)
    assert card.node == "gpu-1"
    assert card.source == case.source
    if case.is_stale:
        assert card.duty_ratio is Absent.STALE
    elif case.duty is None:
        assert card.duty_ratio is case.why
    else:
        assert card.duty_ratio == pytest.approx(case.duty)


def test_amd_and_intel_read_in_base_units() -> None:
    (card,) = gpus(parse_exposition(amd(3), NOW))
    assert (card.index, card.model) == (3, "AMD-Instinct-MI300X-OAM")
    assert (card.memory_used_bytes, card.memory_total_bytes) == (40_000 * MIB, 196_592 * MIB)
    assert (card.temperature_celsius, card.power_watts, card.sm_clock_hertz) == (64.0, 412.5, 2.1e9)
    (card,) = gpus(parse_exposition(intel(), NOW))
    assert card.memory_used_bytes == 40_000 * MIB, "tiles add up"
    assert card.temperature_celsius == 64.0, "the memory's sensor is another one"
    assert card.memory_total_bytes is Absent.NOT_COLLECTED


def test_throttle_reasons_of_ours_and_of_dcgm() -> None:
    labels = {"uuid": "GPU-1", "gpu": "0", "node": "gpu-1"}
    reasons = "".join(
        page(
            {"cockpit_gpu_throttle": float(word in ("hw_thermal", "hw_slowdown"))}, {**labels, "reason": word}
        )
        for word in BIT_OF
    )
    assert gpus(parse_exposition(reasons + page(COCKPIT, labels), NOW))[0].throttle == 0x48
    masked = page({**A, "DCGM_FI_DEV_CLOCKS_EVENT_REASONS": 68.0}, card_a(0))
    assert gpus(parse_exposition(masked, NOW))[0].throttle == 0x44


DETAILED = {
    "A": (
        {
            "DCGM_FI_DEV_POWER_MGMT_LIMIT": 700.0,
            "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": 7.2e9,
            "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": 2.0,
            "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS": 1.0,
            "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS": 3.0,
            "DCGM_FI_DEV_ROW_REMAP_FAILURE": 0.0,
            "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": 0.4,
            "DCGM_FI_DEV_MEMORY_TEMP": 71.0,
            "DCGM_FI_DEV_MEM_CLOCK": 1_593.0,
        },
        card_a(0),
    ),
    "C": (
        {
            "DCGM_FI_DEV_ENFORCED_POWER_LIMIT_WATTS": 700.0,
            "DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL": 7.2e6,
            "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": 2.0,
            "DCGM_FI_DEV_ROW_REMAP_UNCORRECTABLE_TOTAL": 1.0,
            "DCGM_FI_DEV_ROW_REMAP_CORRECTABLE_TOTAL": 3.0,
            "DCGM_FI_DEV_ROW_REMAP_FAILED": 0.0,
            "DCGM_FI_PROF_TENSOR_UTIL_RATIO": 0.4,
            "DCGM_FI_DEV_MEMORY_TEMP_CELSIUS": 71.0,
            "DCGM_FI_DEV_MEMORY_CLOCK_HERTZ": 1.593e9,
        },
        card_b(0),
    ),
}


@pytest.mark.parametrize("generation", DETAILED)
def test_details_of_both_spellings_are_the_same(generation: str) -> None:
    values, labels = DETAILED[generation]
    (found,) = details(parse_exposition(page(values, labels), NOW))
    assert (found.uuid, found.node, found.sampled_seconds) == ("GPU-gpu-1-0", "gpu-1", NOW)
    assert (found.power_cap_watts, found.energy_joules, found.ecc_double) == (700.0, 7.2e6, 2.0)
    assert (found.remapped_rows, found.remap_failed, found.remap_pending) == (4.0, 0.0, Absent.NOT_COLLECTED)
    assert (found.tensor_ratio, found.memory_temperature_celsius) == (0.4, 71.0)
    assert found.memory_clock_hertz == 1.593e9
    assert found.throttle is None


def test_details_of_our_exporter() -> None:
    labels = {"uuid": "GPU-1", "gpu": "0", "node": "gpu-1"}
    text = page({"cockpit_gpu_temperature_limit_celsius": 87.0}, {**labels, "limit": "slowdown"})
    text += page({"cockpit_gpu_temperature_limit_celsius": 92.0}, {**labels, "limit": "shutdown"})
    for kind, counter, count in (("uncorrected", "volatile", 1.0), ("corrected", "volatile", 9.0),
                                 ("uncorrected", "aggregate", 5.0)):  # fmt: skip
        text += page({"cockpit_gpu_ecc_errors_total": count}, {**labels, "kind": kind, "counter": counter})
    text += page({"cockpit_gpu_nvlink_up": 1.0}, {**labels, "link": "0"})
    text += page({"cockpit_gpu_nvlink_up": 0.0}, {**labels, "link": "1"})
    text += page({"cockpit_gpu_throttle": 0.0}, {**labels, "reason": "hw_thermal"})
    text += page({"cockpit_gpu_recovery_action": 1.0}, {**labels, "action": "drain_and_reset"})
    text += page(
        {"cockpit_gpu_process_memory_bytes": 3 * GIB},
        {**labels, "pid": "4711", "name": "python3", "kind": "compute", "pod_uid": "uid-1"},
    )
    (found,) = details(parse_exposition(text * 2, NOW))
    assert (found.slowdown_celsius, found.shutdown_celsius, found.ecc_double) == (87.0, 92.0, 1.0)
    assert (found.nvlinks_up, found.nvlinks, found.throttle) == (1.0, 2.0, 0)
    assert found.recovery == "drain_and_reset"
    assert found.processes is not None
    assert [(one.pid, one.name, one.memory_bytes) for one in found.processes] == [(4711, "python3", 3 * GIB)]


def test_processes_of_a_card_are_bounded() -> None:
    labels = {"uuid": "GPU-1", "gpu": "0", "node": "gpu-1"}
    text = "".join(
        page({"cockpit_gpu_process_memory_bytes": 1.0}, {**labels, "pid": str(at)}) for at in range(500)
    )
    (found,) = details(parse_exposition(text, NOW))
    assert found.processes is not None
    assert len(found.processes) == 32
