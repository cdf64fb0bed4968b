"""MIG instances, processes and Xids as NVML tells them, in all its moods."""

from pathlib import Path

import pytest

from tests.unit.exporter.standin import Box
from tests.unit.exporter.test_nvml_behaviours import MIB, MIG, UP, ups, uuid


def test_mig_instances_have_memory_and_ratios_and_their_card_its_power_once(box: Box) -> None:
    box.write(*MIG)
    page = box.steps(2)
    used = {
        one[1].get("mig_instance", ""): one[2]
        for one in page.samples("cockpit_gpu_memory_total_bytes", gpu="1")
    }
    assert used == {"": 81559 * MIB, "3": 9728 * MIB, "5": 40448 * MIB}
    ratios = {
        one[1].get("mig_instance", ""): one[2]
        for one in page.samples("cockpit_gpu_engine_active_ratio", gpu="1")
    }
    assert ratios == pytest.approx({"": 0.02, "3": 0.023, "5": 0.025})
    assert len(page.samples("cockpit_gpu_power_watts", gpu="1")) == 1
    assert page.by_gpu("cockpit_gpu_duty_ratio") == {"0": 0.07}, "NVML has no duty under MIG"
    assert page.value("cockpit_gpu_memory_used_bytes", mig_profile="3g.40gb", uuid=uuid(1)) == 100 * MIB


def test_a_profile_that_the_name_does_not_tell_comes_from_the_slices(box: Box) -> None:
    box.write("gpus 1", "mig 0 0 3 0 - 20096", "set slices 0 2", "set compute_slices 0 1")
    found = box.step().samples("cockpit_gpu_memory_total_bytes", mig_instance="3")
    assert [one[1]["mig_profile"] for one in found] == ["1c.2g.20gb"]


def test_two_compute_instances_of_one_gpu_instance_are_told_apart(box: Box) -> None:
    box.write("gpus 1", "mig 0 0 1 0 1c.3g.40gb 40448", "mig 0 1 1 1 2c.3g.40gb 40448")
    found = box.step().samples("cockpit_gpu_memory_total_bytes", mig_profile="2c.3g.40gb")
    assert [one[1]["mig_instance"] for one in found] == ["1-1"]


def test_mig_that_is_switched_on_and_off_again_takes_the_duty_and_gives_it_back(box: Box) -> None:
    box.write("gpus 2")
    assert sorted(box.step().by_gpu("cockpit_gpu_duty_ratio")) == ["0", "1"]
    box.write(*MIG)
    assert sorted(box.step().by_gpu("cockpit_gpu_duty_ratio")) == ["0"]
    lent = box.ask("counts")["lent"]
    box.write("gpus 2")
    page = box.step()
    assert sorted(page.by_gpu("cockpit_gpu_duty_ratio")) == ["0", "1"]
    assert page.samples("cockpit_gpu_memory_total_bytes", mig_instance="3") == []
    assert box.ask("counts")["lent"] == lent - 4, "samples of the instances were given back"


def test_chips_before_hopper_have_no_ratios(box: Box) -> None:
    box.write("gpus 2", "set gpm 0 0")
    page = box.steps(2)
    assert sorted(page.by_gpu("cockpit_gpu_engine_active_ratio")) == ["1"]
    assert page.by_gpu("cockpit_gpu_pcie_receive_bytes_per_second")["0"] == 1_001_000.0


def test_one_ratio_that_is_not_told_leaves_the_others(box: Box) -> None:
    box.write("gpus 1", "set gpm_5 * -1")
    page = box.steps(2)
    assert "cockpit_gpu_tensor_active_ratio" not in page.names()
    assert page.value("cockpit_gpu_sm_active_ratio") == 0.02


def test_bytes_that_are_no_utf8_do_not_stop_the_card(box: Box) -> None:
    box.write("gpus 1", r"text name 0 NVIDIA \xff\xfeH100\x01")
    assert box.step().value(UP, model="NVIDIA \N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}H100") == 1.0


def test_processes_have_their_memory_duty_and_pod(box: Box, tmp_path: Path) -> None:
    pod = "1c2d3e4f-aaaa-bbbb-cccc-0123456789ab"
    cgroup = tmp_path / "proc/100/cgroup"
    cgroup.parent.mkdir(parents=True)
    cgroup.write_text(
        f"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{pod.replace('-', '_')}.slice/"
        "cri-containerd-0011.scope\n"
    )
    logs = tmp_path / "logs" / f"team-a_trainer-0_{pod}"
    logs.mkdir(parents=True)
    box.write(
        "gpus 2",
        "process 0 compute 100 500 -1",
        "process 0 graphics 101 20 -1",
        "process 0 mps 102 -1 -1",
        "busy 0 100 33 1000",
        "busy 0 100 35 2000",
    )
    box.start(proc=str(tmp_path / "proc"), pod_logs=str(tmp_path / "logs"))
    page = box.step()
    assert (
        page.value("cockpit_gpu_process_memory_bytes", pid="100", pod="trainer-0", pod_uid=pod) == 500 * MIB
    )
    assert page.value("cockpit_gpu_process_duty_ratio", pid="100", name="python100") == 0.35
    assert {one[1]["kind"]: one[2] for one in page.samples("cockpit_gpu_processes")} == {
        "compute": 1.0,
        "graphics": 1.0,
        "mps": 1.0,
    }
    assert page.samples("cockpit_gpu_process_memory_bytes", pid="102") == [], "withheld is not zero"
    assert page.value("cockpit_gpu_holder", source="process", namespace="team-a", pod="trainer-0") == 1.0
    assert page.value("cockpit_gpu_power_watts", pod="trainer-0") == 100.5
    idle = page.samples("cockpit_gpu_power_watts", gpu="1")
    assert ["pod" in one[1] for one in idle] == [False], "no process is no proof that nobody holds it"


def test_process_lists_that_fail_leave_the_rest(box: Box) -> None:
    box.write("gpus 1", "fail nvmlDeviceGetComputeRunningProcesses_v3 0 7", "process 0 graphics 101 20 -1")
    page = box.step()
    assert page.value("cockpit_gpu_read_failed", error="insufficient-size") == 1.0
    assert page.value("cockpit_gpu_processes", kind="graphics") == 1.0
    assert ups(page) == [1.0]


def test_xids_are_counted_by_card_and_the_last_is_kept(box: Box) -> None:
    box.write("gpus 2")
    box.step()
    assert box.ask("xid")["xid"] == "watching"
    box.write("gpus 2", "xid 1 79 1", "xid 1 31 2", "xid 1 31 3")
    for _ in range(3):
        box.ask("xid")
    page = box.step()
    assert page.by_gpu("cockpit_gpu_xid") == {"0": 0.0, "1": 31.0}
    counts = {one[1]["xid"]: one[2] for one in page.samples("cockpit_gpu_xid_errors_total", gpu="1")}
    assert counts == {"79": 1.0, "31": 2.0}
    assert page.value("cockpit_gpu_xid_age_seconds", gpu="1") == 5.0


def test_where_xids_cannot_be_watched_no_zero_is_shown(box: Box) -> None:
    box.write("gpus 2", "fail nvmlDeviceRegisterEvents * 3")
    box.step()
    assert box.ask("xid")["xid"] == "not-supported"
    assert "cockpit_gpu_xid" not in box.step().names()
