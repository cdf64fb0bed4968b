"""The exporter on a driver that does what drivers do: each test chooses one behaviour of the stand-in."""

from pathlib import Path

import pytest
from cockpit_exporter.driver import CallFailed, Nvml

from tests.unit.exporter.standin import Box, Page

MIB = 1_048_576.0


UP, LOST = "cockpit_gpu_up", "cockpit_gpu_lost"


FAILURES = "cockpit_exporter_call_failures_total"
MIG = ("gpus 2", "mig 1 0 3 0 1g.10gb 9728", "mig 1 2 5 0 3g.40gb 40448")


def uuid(card: int) -> str:
    return f"GPU-{card:08d}-1111-2222-3333-444444444444"


def ups(page: Page) -> list[float]:
    return [value for _, value in sorted(page.by_gpu(UP).items())]


def test_every_number_is_in_base_units(box: Box) -> None:
    box.write("gpus 2", "set util 1 57", "set encoder 1 25", "set throttle 1 4")
    page = box.steps(2)
    one = {
        "gpu": "1",
        "uuid": uuid(1),
        "device": "nvidia1",
        "node": "node-7",
        "model": "NVIDIA H100 80GB HBM3",
    }
    wanted = {
        "duty_ratio": 0.57,
        "memory_busy_ratio": 0.06,
        "encoder_ratio": 0.25,
        "memory_used_bytes": 2000 * MIB,
        "memory_reserved_bytes": 512 * MIB,
        "memory_free_bytes": (81559 - 2000 - 512) * MIB,
        "memory_total_bytes": 81559 * MIB,
        "temperature_celsius": 41.0,
        "memory_temperature_celsius": 51.0,
        "temperature_margin_celsius": 48.0,
        "power_watts": 101.5,
        "power_average_watts": 185.0,
        "power_instant_watts": 186.0,
        "power_limit_watts": 700.0,
        "energy_joules_total": 5_000_000.0,
        "sm_clock_hertz": 1.41e9,
        "memory_clock_hertz": 2.619e9,
        "sm_clock_max_hertz": 1.98e9,
        "pcie_link_generation": 5.0,
        "pcie_link_width": 16.0,
        "nvlink_transmit_bytes_total": 138_000 * 1024.0,
        "nvlink_receive_bytes_total": 139_000 * 1024.0,
        "engine_active_ratio": 0.02,
        "sm_active_ratio": 0.03,
        "tensor_active_ratio": 0.06,
        "dram_active_ratio": 0.11,
        "pcie_transmit_bytes_per_second": 21 * MIB,
        "nvlink_receive_bytes_per_second": 61 * MIB,
        "ecc_enabled": 1.0,
        "sample_age_seconds": 0.0,
        "lost": 0.0,
    }
    assert {name: page.value(f"cockpit_gpu_{name}", **one) for name in wanted} == pytest.approx(wanted)
    assert page.value("cockpit_gpu_throttle", gpu="1", reason="power_cap") == 1.0
    assert page.value("cockpit_gpu_throttle", gpu="0", reason="power_cap") == 0.0
    assert page.value("cockpit_gpu_throttle_seconds_total", gpu="1", policy="thermal") == 2.5
    limits = {
        one[1]["limit"]: one[2] for one in page.samples("cockpit_gpu_temperature_limit_celsius", gpu="0")
    }
    assert limits == {"shutdown": 92.0, "slowdown": 89.0, "memory_max": 95.0, "gpu_max": 87.0}
    assert page.value("cockpit_gpu_driver_info", driver="580.95.05", cuda="13.0") == 1.0


def test_a_machine_without_the_library_stays_up_and_says_so(box: Box, tmp_path: Path) -> None:
    box.environment["LD_LIBRARY_PATH"] = str(tmp_path)
    page = box.step()
    assert page.value("cockpit_nvml_up", reason="library-not-found") == 0.0
    assert "cockpit_gpus" not in page.names()
    box.steps(5)
    tries = box.step().value(FAILURES, error="library-not-found")
    assert tries == 1.0, "tried once a minute, not every round"
    assert box.step(advance=60.0).value(FAILURES, error="library-not-found") == 2.0


def test_a_driver_that_is_not_loaded_yet_is_waited_for(box: Box) -> None:
    box.write("fail nvmlInitWithFlags * 9")
    assert box.step().value("cockpit_nvml_up", reason="driver-not-loaded") == 0.0
    box.write("gpus 2")
    assert box.step(advance=60.0).value("cockpit_nvml_up") == 1.0
    assert ups(box.step()) == [1.0, 1.0]


def test_library_and_kernel_driver_that_differ_want_a_new_process(box: Box) -> None:
    box.write("fail nvmlInitWithFlags * 18")
    found = box.ask("step", advance=5.0)
    assert (found["exit"], found["snapshot"]) == (3, "version-mismatch")


def test_a_driver_that_says_only_unknown_ends_the_exporter_at_the_second_try(box: Box) -> None:
    box.write("fail nvmlInitWithFlags * 999")
    first = box.ask("step", advance=5.0)
    assert (first["exit"], first["snapshot"]) == (0, "unknown")
    assert box.ask("step", advance=5.0)["exit"] == 0, "no try was due"
    assert box.ask("step", advance=60.0)["exit"] == 4


@pytest.mark.parametrize(
    ("code", "word"), [(9, "driver-not-loaded"), (18, "version-mismatch"), (1, "uninitialized")]
)
def test_a_driver_replaced_under_the_exporter_ends_it(box: Box, code: int, word: str) -> None:
    assert ups(box.step()) == [1.0] * 8
    box.write(f"fail nvmlDeviceGetCount_v2 * {code}", f"fail nvmlDeviceGetTemperatureV * {code}")
    found = box.ask("step", advance=5.0)
    # pynvml's function is unversioned, the symbol is not: the failure is of whichever comes first
    assert (found["exit"], found["snapshot"]) == (3, word)
    assert ups(Page(found["page"])) == [0.0] * 8


def test_a_new_driver_version_in_proc_ends_the_exporter(box: Box, tmp_path: Path) -> None:
    version = tmp_path / "proc/driver/nvidia/version"
    version.parent.mkdir(parents=True)
    version.write_text("NVRM version: 580.95.05\n")
    box.start(proc=str(tmp_path / "proc"))
    assert box.ask("step", advance=5.0)["exit"] == 0
    version.write_text("NVRM version: 590.10.01\n")
    assert box.ask("step", advance=5.0)["exit"] == 3


def test_no_permission_turns_that_number_off_for_that_card_and_says_so(box: Box) -> None:
    box.write("gpus 2", "fail nvmlDeviceGetPowerUsage 1 4")
    page = box.steps(3)
    assert page.by_gpu("cockpit_gpu_power_watts") == {"0": 100.5}
    assert page.value("cockpit_gpu_read_failed", gpu="1", error="no-permission") == 1.0
    assert page.value(FAILURES, function="nvmlDeviceGetPowerUsage") == 1.0, "asked once"
    assert ups(page) == [1.0, 1.0]


def test_what_the_chip_lacks_is_left_out_and_not_asked_for_again(box: Box) -> None:
    box.write("gpus 2", "fail nvmlDeviceGetTotalEnergyConsumption 0 3")
    page = box.steps(3)
    assert page.by_gpu("cockpit_gpu_energy_joules_total") == {"1": 5_000_000.0}
    assert page.samples("cockpit_gpu_read_failed") == []
    assert page.value(FAILURES, function="nvmlDeviceGetTotalEnergyConsumption", error="not-supported") == 1.0


def test_what_is_off_is_off_for_the_card_and_not_for_its_index(box: Box) -> None:
    box.write("gpus 2", "fail nvmlDeviceGetTotalEnergyConsumption 0 3")
    box.step()
    box.write("gpus 2", "order 1 0", "fail nvmlDeviceGetTotalEnergyConsumption 0 3")
    found = box.step().samples("cockpit_gpu_energy_joules_total")
    assert [(one[1]["gpu"], one[1]["uuid"]) for one in found] == [("0", uuid(1))]


def test_an_old_driver_gives_what_it_has(old_box: Box) -> None:
    old_box.write("gpus 1", "set throttle 0 8", "process 0 compute 4242 700 -1")
    page = old_box.steps(2)
    assert page.value("cockpit_gpu_memory_used_bytes") == (1000 + 512) * MIB
    assert page.value("cockpit_gpu_memory_used_holds_reserved") == 1.0
    assert page.value("cockpit_gpu_temperature_celsius") == 40.0
    assert page.value("cockpit_gpu_throttle", reason="hw_slowdown") == 1.0
    assert page.value("cockpit_gpu_process_memory_bytes", pid="4242") == 700 * MIB
    assert page.value("cockpit_gpu_pcie_transmit_bytes_per_second") == 1_000_000.0, "no GPM: the slow call"
    absent = {
        "cockpit_gpu_engine_active_ratio",
        "cockpit_gpu_memory_reserved_bytes",
        "cockpit_gpu_row_remap_failed",
    }
    assert not absent & page.names()
    assert page.samples("cockpit_gpu_read_failed") == []


def test_a_card_that_is_lost_while_it_is_read_is_down_and_the_others_go_on(box: Box) -> None:
    box.step()
    box.write("fail nvmlDeviceGetMemoryInfo_v2 2 15")
    page = box.step()
    assert page.value(UP, gpu="2", uuid=uuid(2), reason="gpu-is-lost") == 0.0
    assert page.by_gpu(LOST) == {str(gpu): float(gpu == 2) for gpu in range(8)}
    assert sorted(page.by_gpu("cockpit_gpu_power_watts")) == ["0", "1", "3", "4", "5", "6", "7"]


def test_a_card_lost_at_its_handle_keeps_its_name(box: Box) -> None:
    box.step()
    box.write("fail nvmlDeviceGetHandleByIndex_v2 5 15")
    page = box.step()
    assert page.value(LOST, uuid=uuid(5), gpu="5") == 1.0
    assert len(page.samples(UP)) == 8
    box.write()
    assert ups(box.step()) == [1.0] * 8, "it came back"


def test_a_card_that_was_lost_before_the_start_has_no_uuid(box: Box) -> None:
    box.write("gpus 3", "fail nvmlDeviceGetHandleByIndex_v2 1 15")
    page = box.step()
    assert page.value(UP, gpu="1", uuid="", reason="gpu-is-lost") == 0.0
    assert ups(page) == [1.0, 0.0, 1.0]


def test_cards_behind_a_lost_one_move_up_and_stay_themselves(box: Box) -> None:
    box.write("gpus 4")
    before = box.step()
    box.write("order 0 1 3", "gpus 4")
    after = box.step()
    assert after.value("cockpit_gpu_power_watts", uuid=uuid(3), gpu="2") == before.value(
        "cockpit_gpu_power_watts", uuid=uuid(3), gpu="3"
    )
    assert after.value(UP, uuid=uuid(2), reason="missing") == 0.0
    assert after.value(LOST, uuid=uuid(2)) == 1.0
    assert after.value("cockpit_gpus") == 3.0


def test_a_call_that_hangs_takes_down_its_card_only(box: Box) -> None:
    box.step()
    box.write("hang nvmlDeviceGetTemperatureV 3", "set util 4 99")
    page = box.step()
    assert page.value(UP, gpu="3", uuid=uuid(3), reason="hung") == 0.0
    assert page.value(LOST, gpu="3") == 0.0
    assert page.value("cockpit_gpu_duty_ratio", gpu="4") == 0.99, "those behind it are read"
    assert page.value("cockpit_exporter_hung_calls") == 1.0
    threads = box.ask("counts")["threads"]
    box.steps(5)
    assert box.ask("counts")["threads"] == threads, "the stuck call is not made again"
    box.write()
    while box.step(advance=0.0).value(UP, gpu="3") == 0.0:
        pass
    assert box.step().value("cockpit_exporter_hung_calls") == 0.0


def test_a_handle_that_hangs_is_the_known_cards(box: Box) -> None:
    box.step()
    box.write("hang nvmlDeviceGetHandleByIndex_v2 6")
    assert box.step().value(UP, uuid=uuid(6), reason="hung") == 0.0


@pytest.mark.parametrize("function", ["nvmlDeviceGetCount_v2", "nvmlInitWithFlags"])
def test_a_driver_that_hangs_altogether_is_down_and_scrapes_go_on(box: Box, function: str) -> None:
    if function == "nvmlDeviceGetCount_v2":
        box.step()
    box.write(f"hang {function} *")
    page = box.step()
    assert page.value("cockpit_nvml_up", reason="hung") == 0.0
    assert set(ups(page)) <= {0.0}
    assert "cockpit_gpu_power_watts" not in page.names(), "no number is shown as if it were of now"
    box.steps(3)
    assert box.ask("counts")["threads"] <= 3


@pytest.mark.parametrize(
    ("code", "word"),
    [(16, "reset-required"), (10, "timeout"), (14, "corrupted-inforom"), (999, "unknown"), (77, "error-77")],
)
def test_a_passing_error_costs_one_number_and_is_tried_again(box: Box, code: int, word: str) -> None:
    box.write("gpus 2", f"fail nvmlDeviceGetPowerUsage 0 {code}")
    page = box.steps(2)
    assert page.by_gpu("cockpit_gpu_power_watts") == {"1": 101.5}
    assert page.value("cockpit_gpu_read_failed", gpu="0", error=word) == 1.0
    assert page.value(FAILURES, function="nvmlDeviceGetPowerUsage", error=word) == 2.0
    box.write("gpus 2")
    assert box.step().value("cockpit_gpu_power_watts", gpu="0") == 100.5


def test_memory_health_is_told_and_what_is_not_collected_is_absent(box: Box) -> None:
    box.write(
        "gpus 3",
        "set ecc_double 0 2",
        "set remap_pending 0 1",
        "set remap_failed 0 1",
        "set remap_uncorrected 0 9",
        "set retired_double 1 3",
        "set retired_single 1 0",
        "set retired_pending 1 1",
        "set ecc 2 0",
    )
    page = box.step()
    assert page.value("cockpit_gpu_ecc_errors_total", gpu="0", kind="uncorrected", counter="volatile") == 2.0
    assert page.value("cockpit_gpu_row_remap_pending", gpu="0") == 1.0
    assert page.value("cockpit_gpu_row_remap_failed", gpu="0") == 1.0
    assert page.value("cockpit_gpu_remapped_rows_total", gpu="0", kind="uncorrected") == 9.0
    assert page.value("cockpit_gpu_retired_pages", gpu="1", cause="double_bit") == 3.0
    assert page.value("cockpit_gpu_retired_pages_pending", gpu="1") == 1.0
    assert page.value("cockpit_gpu_ecc_enabled", gpu="2") == 0.0
    assert page.samples("cockpit_gpu_ecc_errors_total", gpu="2") == [], "ECC is off: no count is a good sign"


def test_errors_of_links_are_told_by_kind(box: Box) -> None:
    box.write("gpus 1", "set nvlink_errors 0 2")
    page = box.step()
    assert page.value("cockpit_gpu_nvlink_errors_total", link="1", kind="crc_data") == 8.0
    assert len(page.samples("cockpit_gpu_nvlink_errors_total")) == 8


def test_links_and_advice_of_the_driver(box: Box) -> None:
    box.write("gpus 1", "set nvlinks 0 4", "set nvlink_down 0 2", "set field_230 0 4", "set field_82 0 -1")
    page = box.step()
    links = {one[1]["link"]: one[2] for one in page.samples("cockpit_gpu_nvlink_up")}
    assert links == {"0": 1.0, "1": 1.0, "2": 0.0, "3": 1.0}
    assert page.value("cockpit_gpu_recovery_action", action="drain_and_reset") == 1.0
    assert "cockpit_gpu_memory_temperature_celsius" not in page.names(), "one field fails alone"
    assert page.value("cockpit_gpu_power_instant_watts") == 186.0


def test_slow_numbers_are_read_once_a_minute(box: Box) -> None:
    box.write("gpus 1")
    box.step()
    box.write("gpus 1", "set limit_milliwatts 0 500000", "set milliwatts 0 300000")
    page = box.step()
    assert page.value("cockpit_gpu_power_limit_watts") == 700.0
    assert page.value("cockpit_gpu_power_watts") == 300.0
    assert box.step(advance=60.0).value("cockpit_gpu_power_limit_watts") == 500.0


@pytest.mark.parametrize(
    ("generation", "name", "value", "host"),
    [("A", "DCGM_FI_DEV_GPU_UTIL", 57.0, "Hostname"), ("C", "DCGM_FI_DEV_GPU_UTIL_RATIO", 0.57, "hostname")],
)
def test_dcgms_names_come_where_they_are_asked_for(
    box: Box, generation: str, name: str, value: float, host: str
) -> None:
    box.write("gpus 1", "set util 0 57")
    box.start(dcgm_names=generation)
    page = box.step()
    assert page.value(name, **{"UUID": uuid(0), host: "node-7"}) == value
    assert not any(one.startswith("cockpit_gpu_power") for one in page.names())
    assert page.value("cockpit_exporter_info", names=f"dcgm {generation}") == 1.0


def test_a_machine_without_cards_is_no_failure(box: Box) -> None:
    box.write("gpus 0")
    page = box.step()
    assert page.value("cockpit_gpus") == 0.0
    assert page.value("cockpit_nvml_up") == 1.0


def test_what_was_lent_is_given_back(box: Box) -> None:
    box.write(*MIG)
    box.steps(2)
    assert box.ask("counts")["lent"] == 8
    box.ask("close")


def test_a_snapshot_older_than_three_intervals_is_unhealthy(box: Box) -> None:
    box.step()
    assert box.ask("advance", seconds=15.0)["health"] == ""
    late = box.ask("advance", seconds=1.0)
    assert late["health"] == "the snapshot is 16 s old, more than three intervals"
    assert Page(late["page"]).value("cockpit_exporter_snapshot_age_seconds") == 16.0
    assert Page(late["page"]).value("cockpit_gpu_sample_age_seconds", gpu="0") == 16.0


def test_a_mismatch_of_structures_that_is_no_nvml_error_is_a_failure_like_others() -> None:
    nvml = Nvml()

    def mismatched() -> None:
        raise nvml.NVMLLibraryMismatchError("Unversioned function called")

    nvml._functions["nvmlDeviceGetComputeRunningProcesses_v3"] = mismatched
    nvml._functions["nvmlDeviceGetComputeRunningProcesses_v2"] = lambda: ["a process"]
    with pytest.raises(CallFailed, match="library-mismatch"):
        nvml.call("nvmlDeviceGetComputeRunningProcesses_v3")
    both = ("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2")
    assert nvml.first(both) == ["a process"]
