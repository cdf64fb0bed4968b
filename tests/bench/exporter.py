"""`python -m tests.bench.exporter`: what a scrape of the exporter costs, on the stand-in for the driver.

Eight cards, four of them cut into four MIG instances each, 32 processes and a fake kubelet. Prints the time
of a scrape over HTTP, the exporter's own processor time for it and its memory, beside goals and yardstick.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from tests.bench.measure import yardstick_seconds
from tests.unit.exporter.fake_kubelet import FakeKubelet
from tests.unit.exporter.standin import Box, compiled

GOAL_MILLISECONDS = 50.0
GOAL_MEGABYTES = 60.0
GOAL_HUNG_MILLISECONDS = 1000.0
HUNG_SCRAPES = 20
CARDS, CUT, SLICES = 8, 4, 4


def _plant(box: Box, kubelet: FakeKubelet) -> None:
    lines = [f"gpus {CARDS}"]
    for card in range(CARDS):
        if card < CUT:
            lines += [f"mig {card} {slot} {slot + 3} 0 1g.10gb 9728" for slot in range(SLICES)]
            for slot in range(SLICES):
                name = f"MIG-{card:08d}-0000-0000-0000-{slot:012d}"
                kubelet.holds(f"team/slice-{card}-{slot}", name, resource="nvidia.com/mig-1g.10gb")
        else:
            kubelet.holds(f"team/trainer-{card}", f"GPU-{card:08d}-1111-2222-3333-444444444444")
        lines += [f"process {card} compute {card * 10 + one} 500 -1" for one in range(4)]
    box.write(*lines)


def _of_process(pid: int) -> tuple[float, float]:
    """Seconds of processor time so far, and the most memory so far in MB."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    match = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return seconds, int(match[1]) / 1000 if match else 0.0


def _scrape(url: str) -> tuple[float, bytes]:
    began = time.perf_counter()
    with urllib.request.urlopen(url, timeout=30) as answer:
        body = answer.read()
    return time.perf_counter() - began, body


def _while_it_hangs(box: Box, url: str) -> float:
    """Milliseconds of the slowest scrape from the moment the driver hangs until well after it is told so."""
    box.write("hang nvmlDeviceGetCount_v2 *", "hang nvmlEventSetWait_v2 *", "hang nvmlShutdown *")
    times: list[float] = []
    told, patience = 0, time.monotonic() + 60
    while told < HUNG_SCRAPES and time.monotonic() < patience:
        seconds, body = _scrape(url)
        times.append(seconds * 1000)
        told += b'cockpit_nvml_up{reason="hung"} 0.0' in body
    if told < HUNG_SCRAPES:
        raise RuntimeError("the exporter never told that its driver hangs")
    return max(times)


def _run(scrapes: int, folder: Path) -> int:
    kubelet = FakeKubelet(folder)
    box = Box(compiled(folder), folder)
    _plant(box, kubelet)
    command = [sys.executable, "-m", "cockpit_exporter", "--listen", "127.0.0.1:0"]
    command += ["--pod-resources", str(kubelet.socket), "--interval", "5"]
    process = subprocess.Popen(command, env=box.environment, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        match = re.search(r"serving on \S+:(\d+)", process.stderr.readline())
        assert match is not None
        url = f"http://127.0.0.1:{match[1]}/metrics"
        # the second round has the ratios, and the kubelet has been asked
        while b"cockpit_gpu_engine_active_ratio" not in (body := _scrape(url)[1]) or b"trainer-7" not in body:
            continue
        before = yardstick_seconds()
        cpu, _ = _of_process(process.pid)
        times = sorted(_scrape(url)[0] * 1000 for _ in range(scrapes))
        cpu_after, megabytes = _of_process(process.pid)
        after = yardstick_seconds()
        hung = _while_it_hangs(box, url)
    finally:
        process.kill()
        process.wait(timeout=30)
        kubelet.close()
    yardstick = (before + after) / 2
    middle, late = statistics.median(times), times[int(len(times) * 0.99)]
    own = (cpu_after - cpu) * 1000 / scrapes
    series = sum(not line.startswith(b"#") for line in body.splitlines())
    planted = f"{CARDS} cards, {CUT * SLICES} MIG instances, {series} series"
    print(f"{planted}, {len(body)} bytes, {scrapes} scrapes")
    goal = f"(goal {GOAL_MILLISECONDS:.0f} ms)"
    print(f"scrape        median {middle:.1f} ms, 99 of 100 within {late:.1f} ms {goal}")
    print(f"own CPU       {own:.1f} ms a scrape, rounds of reading included")
    is_in_time = "met" if hung <= GOAL_HUNG_MILLISECONDS else "MISSED"
    print(f"hung driver   worst {hung:.1f} ms (goal {GOAL_HUNG_MILLISECONDS:.0f} ms: {is_in_time})")
    print(f"memory        {megabytes:.1f} MB at most (goal {GOAL_MEGABYTES:.0f} MB)")
    print(f"yardstick     {yardstick:.3f} s; a median scrape is {middle / 1000 / yardstick:.4f} of it")
    is_met = middle <= GOAL_MILLISECONDS and megabytes <= GOAL_MEGABYTES
    print("goals met by the median scrape" if is_met else "goals MISSED by the median scrape")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.exporter", description=__doc__)
    parser.add_argument("--scrapes", type=int, default=300)
    with tempfile.TemporaryDirectory() as folder:
        return _run(parser.parse_args().scrapes, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
