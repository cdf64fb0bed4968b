"""Folders of pods that really run: hostile names, modes, files that follow, claims, images' paths, /proc."""

import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cockpit.clock import SystemClock
from cockpit.sim import training_env
from cockpit.sim.actors.kubelet.folders import PodFolder, mapped, paths_in, remove_claim
from cockpit.sim.actors.kubelet.hosts import Hosts
from cockpit.sim.actors.kubelet.local_images import HOROVOD, STAND_IN, LocalImages
from cockpit.sim.actors.kubelet.metrics import resource_metrics
from cockpit.sim.actors.kubelet.proc import used_below
from cockpit.sim.actors.kubelet.volume_keeper import VolumeKeeper
from cockpit.sim.engine import ActorEngine
from cockpit.sim.port import Tree
from cockpit.sim.resources import CONFIG_MAPS, PERSISTENT_VOLUME_CLAIMS
from tests.unit.sim.kubelet.test_process_runtime import LiveCluster, live
from tests.waiting import until

HOSTILE = ("../../etc", "..", ".", "/etc/passwd", "a/../../b", "a\0b", "a\nb", ".claims", "x" * 300, "")


def _pod(name: str, namespace: str = "a", **spec: Any) -> Tree:
    return {"metadata": {"name": name, "namespace": namespace, "uid": "u1"}, "spec": spec}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_leaves_the_folder(tmp_path: Path, name: str) -> None:
    base = tmp_path / "pods"
    for pod in (_pod(name), _pod("p", name), _pod("p", hostname=name, subdomain=name)):
        volumes = [{"name": name, "emptyDir": {}}, {"name": "c", "configMap": {"name": "m"}}]
        claims = [{"name": "data", "persistentVolumeClaim": {"claimName": "d"}}]
        pod["spec"] |= {"volumes": [*volumes, *claims]}
        container = {"name": name, "volumeMounts": [{"name": name, "mountPath": f"/{name}", "subPath": name}]}
        folder = PodFolder(base, pod)
        folder.make({"c": {name or "k": b"x"}}, {"data": name})
        folder.root(container, {})
        hosts = Hosts(base / ".hosts")
        hosts.add(pod)
        assert {one.name for one in tmp_path.iterdir()} == {"pods"}
        assert all(one.resolve().is_relative_to(base) for one in base.rglob("*"))
        hosts.remove(pod)
        folder.remove()
        assert not folder.path.exists()


def test_modes_of_items_count_and_files_follow(tmp_path: Path) -> None:
    items = [
        {"key": "hosts", "path": "hostfile", "mode": 0o444},
        {"key": "find", "path": "find.sh", "mode": 0o555},
    ]
    secret = {"name": "keys", "secret": {"secretName": "s", "defaultMode": 0o600}}
    part = {"configMap": {"name": "m", "items": [{"key": "a", "path": "a", "mode": 0o500}]}}
    pod = _pod(
        "p", volumes=[{"name": "conf", "configMap": {"name": "m", "items": items}}, secret,
                      {"name": "both", "projected": {"defaultMode": 0o440, "sources": [part]}}],
    )  # fmt: skip
    folder = PodFolder(tmp_path, pod)
    first = {
        "conf": {"hostfile": b"one", "find.sh": b"#!"},
        "keys": {"id_rsa": b"k"},
        "both": {"a": b"", "b": b""},
    }
    folder.make(first, {})
    volumes = folder.path / "volumes"

    def modes() -> dict[str, int]:
        return {
            str(one.relative_to(volumes)): one.stat().st_mode & 0o777
            for one in volumes.rglob("*")
            if one.is_file()
        }

    assert modes() == {
        "conf/hostfile": 0o444, "conf/find.sh": 0o555, "keys/id_rsa": 0o600, "both/a": 0o500, "both/b": 0o440,
    }  # fmt: skip
    folder.follow({**first, "conf": {"hostfile": b"one\ntwo"}})
    assert (volumes / "conf/hostfile").read_text() == "one\ntwo"
    assert "conf/find.sh" not in modes() and modes()["conf/hostfile"] == 0o444
    assert (volumes / "keys/id_rsa").read_text() == "k"


def test_a_claim_s_folder_outlives_the_pod_and_goes_with_the_claim(tmp_path: Path) -> None:
    pod = _pod("p", volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "d"}}])
    container = {"name": "main", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    first = PodFolder(tmp_path, pod)
    first.make({}, {"data": "claim-1"})
    (first.root(container, {}) / "data" / "kept").write_text("yes")
    first.remove()
    other = _pod("q", volumes=pod["spec"]["volumes"])
    other["metadata"]["uid"] = "u2"
    second = PodFolder(tmp_path, other)
    second.make({}, {"data": "claim-1"})
    assert (second.root(container, {}) / "data" / "kept").read_text() == "yes"
    remove_claim(tmp_path, "claim-1")
    assert list((tmp_path / ".claims").iterdir()) == []


def test_a_mount_below_a_folder_of_the_image_leaves_both_to_be_seen(tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "train.py").write_text("1")
    pod = _pod("p", volumes=[{"name": "data", "emptyDir": {}}])
    folder = PodFolder(tmp_path / "pods", pod)
    folder.make({}, {})
    mounts = {"name": "main", "volumeMounts": [{"name": "data", "mountPath": "/app/data"}]}
    root = folder.root(mounts, {"/app": code})
    (root / "app/data/x").write_text("2")
    assert (root / "app/train.py").read_text() == "1"
    assert [one.name for one in code.iterdir()] == ["train.py"], "nothing is written into the image"
    paths = paths_in(root, mounts, {"/app": code})
    assert mapped("python /app/train.py --data=/app/data/x /apple", paths) == (
        f"python {root}/app/train.py --data={root}/app/data/x /apple"
    )


def test_a_path_that_was_replaced_is_not_replaced_again(tmp_path: Path) -> None:
    root = Path("/tmp/root")
    container = {"volumeMounts": [{"mountPath": "/data"}, {"mountPath": "/tmp"}]}
    assert mapped("/data/x /tmp/y", paths_in(root, container, {})) == "/tmp/root/data/x /tmp/root/tmp/y"


def test_the_table_of_images(tmp_path: Path) -> None:
    images = LocalImages(tmp_path / "images", {"GPU_COCKPIT_CACHE": str(tmp_path)})
    assert images.get("local/shell").paths == {} and not (tmp_path / "images").exists()
    missing = images.get(f"{HOROVOD}:1").missing
    assert training_env.COMMAND in missing and missing.startswith(HOROVOD)
    stand_in = images.get(f"{STAND_IN}:1@sha256:0")
    assert stand_in.environment["OMP_NUM_THREADS"] == "1"
    assert set(stand_in.paths) >= {"/usr/sbin/sshd", "/usr/bin/ssh", "/app/train.py"}
    assert all(path.exists() for path in stand_in.paths.values())
    programs = tmp_path / "training" / training_env.key() / "bin"
    programs.mkdir(parents=True)
    (programs / "horovodrun").write_text('#!/bin/sh\necho "$@"\n')
    (programs / "horovodrun").chmod(0o755)
    horovod = images.get(HOROVOD)
    assert horovod.path[1] == programs and (horovod.paths["/app"] / "train.py").exists()
    said = subprocess.run(
        [horovod.path[0] / "horovodrun", "--gloo"], capture_output=True, text=True, check=True
    )
    assert said.stdout == "--network-interfaces lo --gloo\n"


class WithVolumes(LiveCluster):
    """A live cluster that keeps volumes."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        clock: Any = SystemClock()
        keeper = VolumeKeeper(self.kubelets, self.runtime)
        self.engine = ActorEngine(self.port, clock, Random(7), [self.kubelets, keeper])


async def test_a_running_pod_sees_its_config_map_change_and_its_claim_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.unit.sim.kubelet.test_process_runtime.LiveCluster", WithVolumes)
    async with live(tmp_path) as cluster:
        cluster.port.put(CONFIG_MAPS, {"metadata": {"name": "c", "namespace": "a"}, "data": {"f": "before"}})
        claim = cluster.port.put(PERSISTENT_VOLUME_CLAIMS, {"metadata": {"name": "d", "namespace": "a"}})
        mounts = [{"name": "conf", "mountPath": "/conf"}, {"name": "data", "mountPath": "/data"}]
        volumes = [
            {"name": "conf", "configMap": {"name": "c"}},
            {"name": "data", "persistentVolumeClaim": {"claimName": "d"}},
        ]
        changed = "until grep -q after /conf/f; do sleep 0.02; done"
        script = f"cat /conf/f; echo; touch /data/kept; {changed}; cat /conf/f"
        cluster.run(script, container={"volumeMounts": mounts}, spec={"volumes": volumes})
        await until(lambda: cluster.status().get("phase") == "Running" and "before" in cluster.output())
        cluster.port.put(CONFIG_MAPS, {"metadata": {"name": "c", "namespace": "a"}, "data": {"f": "after"}})
        await until(lambda: cluster.phase() == "Succeeded")
        assert cluster.output().split() == ["before", "after"]
        kept = tmp_path / ".claims" / claim["metadata"]["uid"] / "kept"
        assert kept.exists()
        await cluster.delete()
        await until(lambda: not cluster.exists())
        assert kept.exists()
        await cluster.port.delete(PERSISTENT_VOLUME_CLAIMS, "a", "d")
        await until(lambda: not kept.exists())


async def test_cpu_seconds_and_paths_of_what_really_ran(tmp_path: Path) -> None:
    async with live(tmp_path) as cluster:
        burn = "import time\nwhile time.process_time() < 0.3: pass"
        script = f'echo "in $HOME/x"; {sys.executable} -S -c "{burn}"; echo done; sleep 300'
        cluster.run(script)
        await until(lambda: cluster.status().get("phase") == "Running" and "done" in cluster.output())
        assert cluster.output().split("\n")[0] == "in /x"

        def seconds() -> float:
            (line,) = [
                one
                for one in resource_metrics(cluster.kubelets, "").splitlines()
                if 'pod="train"' in one and "cpu" in one
            ]
            return float(line.rpartition(" ")[2])

        assert 0.28 <= seconds() < 60, "the child that burned it has ended"


def test_proc_tells_of_a_process_and_all_below_it() -> None:
    before = used_below(os.getpid())
    subprocess.run(
        [sys.executable, "-S", "-c", "import time\nwhile time.process_time() < 0.2: pass"], check=True
    )
    assert used_below(os.getpid()).cpu_seconds >= before.cpu_seconds + 0.18
