"""`ssh` and `sshd` of local images: options, names, translation, exit codes, signals."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shlex import quote

import pytest

from cockpit.sim.actors.kubelet.programs import ssh

PROGRAM = Path(ssh.__file__)
HOST = "train-worker-0.train.ml.svc"


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folders of two pods of one job; we are the launcher."""
    for name in ("train-worker-0", "train-worker-1"):
        (tmp_path / "hosts" / "ml" / "train" / name).mkdir(parents=True)
        (tmp_path / name).mkdir()
    for key, value in _around(tmp_path, "train-launcher-x").items():
        monkeypatch.setenv(key, value)
    return tmp_path


def _around(folder: Path, name: str) -> dict[str, str]:
    return {
        "COCKPIT_HOSTS": str(folder / "hosts"),
        "COCKPIT_HOST": f"ml/train/{name}",
        "COCKPIT_ROOT": str(folder / name),
        "HOSTNAME": name,
    }


def _start(hosts: Path, *words: str, name: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-I", "-S", str(PROGRAM), *words],
        env={"PATH": os.environ["PATH"], **_around(hosts, name)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def server(hosts: Path) -> Iterator["subprocess.Popen[str]"]:
    """sshd of the first worker, listening."""
    with _start(hosts, "sshd", "-De", "-p", "2222", name="train-worker-0") as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "Server listening on train-worker-0 port 2222.\n"
        yield process
        process.kill()


def _ssh(hosts: Path, *words: str) -> tuple[int, str, str]:
    with _start(hosts, "ssh", *words, name="train-launcher-x") as process:
        out, error = process.communicate(timeout=60)
    return process.returncode, out, error


@pytest.mark.parametrize(
    ("words", "port", "rest"),
    [
        (["-n", "-p", "22", "-o", "ConnectTimeout=3", "host", "true"], "22", ["host", "true"]),
        (
            ["-o", "A=no", "host", "-p", "2222", "-i", "/key", "cd / ; env -i x"],
            "2222",
            ["host", "cd / ; env -i x"],
        ),
        (["-np", "7", "host", "echo", "-n", "x"], "7", ["host", "echo", "-n", "x"]),
    ],
)
def test_options_stand_before_and_after_the_host_as_openssh_takes_them(
    words: list[str], port: str, rest: list[str]
) -> None:
    options, found = ssh.options_of(words, "BbcDEeFIiJLlmOopQRSWw")
    assert (options["p"], found) == (port, rest)


@pytest.mark.parametrize(
    "host",
    [
        "nobody", "train-worker-9.train.ml.svc", "train-worker-0.train.other.svc", "../train-worker-0",
        "..", ".", "", "/etc", "train-worker-0.train.ml.svc.example.com", "train-worker-0/../x", "-oProxy",
    ],
)  # fmt: skip
def test_no_other_name_leads_anywhere(hosts: Path, host: str) -> None:
    assert ssh.folder_of(host) is None


@pytest.mark.parametrize(
    "host", ["train-worker-0", "train-worker-0.train", HOST, f"{HOST}.cluster.local", f"{HOST}."]
)
def test_a_pod_is_found_by_each_of_its_names(hosts: Path, host: str) -> None:
    assert ssh.folder_of(host) == hosts / "hosts/ml/train/train-worker-0"


def test_a_command_gets_the_worker_s_paths_and_variables_and_keeps_the_launcher_s_others() -> None:
    theirs = {"PATH": "/l/bin:/usr/bin", "HOSTNAME": "launcher", "CUDA_VISIBLE_DEVICES": ""}
    ours = {
        "PATH": "/w/bin:/usr/bin",
        "HOSTNAME": "worker",
        "CUDA_VISIBLE_DEVICES": "GPU-7",
        "COCKPIT_ROOT": "/w/root",
    }
    command = (
        "cd /l/root > /dev/null 2>&1 ; env HOROVOD_RANK=1 PATH=/l/bin:/usr/bin HOSTNAME=launcher "
        "CUDA_VISIBLE_DEVICES='' MY_PATH=/l/bin:/usr/bin LR=0.1 python /l/root/app/train.py"
    )
    assert ssh.translated(command, {"root": "/l/root", "own": theirs}, ours) == (
        "cd /w/root > /dev/null 2>&1 ; env HOROVOD_RANK=1 PATH=/w/bin:/usr/bin HOSTNAME=worker "
        "CUDA_VISIBLE_DEVICES=GPU-7 MY_PATH=/l/bin:/usr/bin LR=0.1 python /w/root/app/train.py"
    )


def test_streams_and_exit_code_come_back(hosts: Path, server: "subprocess.Popen[str]") -> None:
    script = 'echo "on $HOSTNAME in $(pwd)"; echo bad >&2; exit 7'
    code, out, error = _ssh(hosts, "-o", "A=no", HOST, "-p", "2222", script)
    assert (code, out, error) == (7, f"on train-worker-0 in {hosts}/train-worker-0\n", "bad\n")


def test_what_cannot_be_reached_is_named(hosts: Path, server: "subprocess.Popen[str]") -> None:
    code, _, error = _ssh(hosts, "nobody", "true")
    assert (code, error) == (255, "ssh: Could not resolve hostname nobody: Name or service not known\n")
    code, _, error = _ssh(hosts, HOST, "true")
    assert (code, error) == (255, f"ssh: connect to host {HOST} port 22: Connection refused\n")


def test_sigterm_at_sshd_goes_on_to_its_ranks_which_may_take_their_time(
    hosts: Path, server: "subprocess.Popen[str]"
) -> None:
    script = "trap 'echo checkpoint; exit 143' TERM; echo ready; while :; do sleep 0.05; done"
    with _start(hosts, "ssh", HOST, "-p", "2222", f"sh -c {quote(script)}", name="l") as client:
        assert client.stdout is not None and client.stdout.readline() == "ready\n"
        server.send_signal(signal.SIGTERM)
        assert client.stdout.readline() == "checkpoint\n"
        assert client.wait(60) == 143
    assert server.wait(60) == 0
    assert not (hosts / "hosts/ml/train/train-worker-0/2222").exists()


def test_sigterm_at_ssh_ends_its_command_and_tells_its_last_words(
    hosts: Path, server: "subprocess.Popen[str]"
) -> None:
    script = "trap 'echo checkpoint; exit 143' TERM; echo ready; while :; do sleep 0.05; done"
    with _start(hosts, "ssh", HOST, "-p", "2222", f"sh -c {quote(script)}", name="l") as client:
        assert client.stdout is not None and client.stdout.readline() == "ready\n"
        client.send_signal(signal.SIGTERM)
        assert client.stdout.read() == "checkpoint\n"
        assert client.wait(60) == 143


def test_an_sshd_that_was_killed_is_told_and_the_next_one_takes_its_place(
    hosts: Path, server: "subprocess.Popen[str]"
) -> None:
    with _start(hosts, "ssh", HOST, "-p", "2222", "echo $$; exec sleep 300", name="l") as client:
        assert client.stdout is not None and client.stderr is not None
        rank = int(client.stdout.readline())
        server.kill()
        server.wait(60)
        assert client.stderr.read() == f"Connection to {HOST} closed by remote host.\n"
        assert client.wait(60) == 255
        os.kill(rank, signal.SIGKILL)  # in a container its launcher does that
    with _start(hosts, "sshd", "-De", "-p", "2222", name="train-worker-0") as another:
        assert another.stderr is not None and another.stderr.readline().startswith("Server listening")
        assert _ssh(hosts, HOST, "-p", "2222", "true")[0] == 0
        with _start(hosts, "sshd", "-De", "-p", "2222", name="train-worker-0") as second:
            assert second.stderr is not None and "Bind to port 2222 failed" in second.stderr.read()
            assert second.wait(60) == 255
        another.kill()
