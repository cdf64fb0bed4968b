"""A newcomer's way by the site alone: install, demo, a real cluster, submit, why, scale, exporter.

Every command is that of `docs/first-ten-minutes.md`, section by section; none is written here. They run in
an empty home, with pipx and the programs that the page's own lines installed. Replaced is only what a
stranger has otherwise: `.` and `./exporter` of a checkout by the wheels of this commit, as `make release`
builds them, port 9400 by a free one, the driver of NVIDIA by a stand-in. The real control plane has what the
page names: a queue `main` in namespace research, and a pool t4 of four nodes, whose machines the bed makes.
"""

import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename

from tests.bed.api import Tree
from tests.bed.bed import Bed
from tests.bed.estate import GPU, Estate
from tests.bed.fixtures import bed_full
from tests.bed.layout import free_ports
from tests.bed.machine_objects import DEPLOYMENT_LABEL, machine_deployment
from tests.bed.setup import apply_all
from tests.docs.markdown_pages import DOCS, blocks_of, sections
from tests.docs.test_blocks import lines, passes
from tests.release.bill_of_materials import COCKPIT, EXPORTER
from tests.release.building import build_all, head, tools
from tests.release.environments import environment, make_environment
from tests.tui.on_the_bed import until
from tests.tui.terminal import Terminal
from tests.unit.exporter.standin import Box, compiled

__all__ = ["bed_full"]
pytestmark = pytest.mark.real

PAGE = DOCS / "first-ten-minutes.md"
ON_THE_DEMO = {"The same from a shell"}
"""Sections that only the embedded cluster serves: `test_blocks` runs them on it."""
NEEDS_A_TERMINAL = "terminal"
POOL, NAMESPACE = "t4", "research"
DEPLOYMENT = f"/apis/cluster.x-k8s.io/v1beta1/namespaces/default/machinedeployments/{POOL}"
JOB = "/apis/batch/v1/namespaces/default/jobs/hello"
GANG = f"/apis/kubeflow.org/v2beta1/namespaces/{NAMESPACE}/mpijobs/llm"
PATIENCE_SECONDS = 120.0
"""For a component of the cluster, and for the same answer asked again."""
INSTALL_SECONDS = 480.0

SAYS = {
    "cockpit --version": f"cockpit {COCKPIT.version()}",
    "cockpit demo </dev/null": "16 nodes, 16 with GPUs",
    "cockpit demo --list": "two-nodes",
    "cockpit doctor": "every kind that is read may be read",
    "cockpit get overview": "GPUs",
    "cockpit get queues": "main",
    "cockpit get pools": POOL,
    "cockpit template list": "mpijob",
    "cockpit get pods": "hello",
    "cockpit why job/llm": "can never give more than 4",
    "cockpit why --explain": "causes/above-quota.html",
    "cockpit pool show": POOL,
    "cockpit audit list": POOL,
    "cockpit-exporter --check": "GPU",
    "curl -sS http://127.0.0.1:9400/metrics": "\ncockpit_gpu_up{",
}
"""What a line of the page prints, by how it begins."""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """By the words of the page that name a checkout: the wheel that pip would take of it."""
    commit = head()
    tools()
    built = build_all(commit.digest, tmp_path_factory.mktemp("built") / "all", commit.epoch_seconds)
    cockpit, exporter = (taken_by_pip(built, stem) for stem in (COCKPIT.stem, EXPORTER.stem))
    return {"'.[demo]'": f"'{cockpit}[demo]'", "./exporter": str(exporter)}


def taken_by_pip(built: Iterable[Path], stem: str) -> Path:
    """The wheel whose tag this machine likes best."""
    ranks = {tag: rank for rank, tag in enumerate(sys_tags())}
    found = [path for path in built if path.name.startswith(f"{stem}-") and path.suffix == ".whl"]
    worst = len(ranks)
    return min(
        found, key=lambda path: min(ranks.get(tag, worst) for tag in parse_wheel_filename(path.name)[3])
    )


@pytest.fixture
def bed(bed_full: Bed) -> Bed:
    api = bed_full.api()
    space: Tree = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    apply_all(
        api, [space, machine_deployment(POOL, 4, gpus=1)], fresh=True
    )  # an applied size belongs to who applied it
    Estate(api).queues(gpus=4, namespaces=(NAMESPACE,))
    until("four nodes have their GPU", lambda: gpu_nodes(bed_full) == 4 or None, PATIENCE_SECONDS)
    return bed_full


def gpu_nodes(bed: Bed) -> int:
    """Nodes of the pool that offer their GPUs."""
    selector = ("labelSelector", f"{DEPLOYMENT_LABEL}={POOL}")
    nodes = bed.api().items("/api/v1/nodes", query=[selector])
    return sum(GPU in node["status"].get("allocatable", {}) for node in nodes)


def there(bed: Bed, path: str) -> Tree | None:
    answer = bed.api().request("GET", path)
    return None if answer.status == 404 else answer.json()


class Stranger:
    """Somebody with an empty home, pipx, and the programs of the system."""

    def __init__(self, folder: Path, wheels: dict[str, str]) -> None:
        self.home, self.folder = folder / "home", folder
        self.box = Box(compiled(_made(folder / "driver")), _made(folder / "cards"))
        self.box.write("gpus 4", "set util 0 57")
        tool = make_environment(folder / "pipx", "pipx") / "pipx"
        (_made(folder / "bin") / "pipx").symlink_to(tool)
        port = free_ports(["exporter"])["exporter"]
        self.put_in = {**wheels, ":9400": f":{port}"}
        kept = environment(folder)
        kept.pop("XDG_CACHE_HOME", None)
        self.environment = {
            **kept,
            "HOME": str(_made(self.home)),
            "PATH": f"{self.home}/.local/bin:{folder}/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "NO_COLOR": "1",
            "LD_LIBRARY_PATH": self.box.environment["LD_LIBRARY_PATH"],
            "NVML_STANDIN_SCRIPT": self.box.environment["NVML_STANDIN_SCRIPT"],
        }

    def typed(self, line: str) -> str:
        """The line of the page as it is run."""
        for text, instead in self.put_in.items():
            line = line.replace(text, instead)
        return line

    def answer(self, line: str) -> str:
        """What it prints; fails where its exit code is that of a fault."""
        done = subprocess.run(
            ["bash", "-c", self.typed(line)], cwd=self.home, env=self.environment, capture_output=True,
            text=True, check=False, timeout=INSTALL_SECONDS, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert passes(line, done.returncode), f"{line}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def sees(self, line: str) -> None:
        """That it prints what is meant; what a component has yet to write may need a second look."""
        wanted = next((text for begins, text in SAYS.items() if line.startswith(begins)), "")
        deadline = time.monotonic() + PATIENCE_SECONDS
        while wanted not in (said := self.answer(line)):
            assert line.startswith(("cockpit why", "cockpit get", "curl")), f"{line}\n{said}"
            assert time.monotonic() < deadline, f"{line}: no {wanted!r} in\n{said}"

    def looks(self, line: str) -> None:
        """The screens that the line opens, on the real cluster."""
        program, *words = line.partition("#")[0].split()
        path = str(self.home / ".local/bin" / program)
        right = "rw" if "--write" in words else "ro"
        folder = _made(self.folder / f"terminal-{right}")
        with Terminal(folder, words, self.environment, program=[path], is_fresh=True) as screen:
            screen.until("live", f"· {right}", "1 Now")
            screen.keys("q")
            screen.until_that(lambda _: screen.ended() == 0, "it left")


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def stranger(tmp_path: Path, wheels: dict[str, str]) -> Stranger:
    return Stranger(tmp_path, wheels)


def commands(heading: str) -> Iterator[tuple[str, str]]:
    """The lines of a section, each with what stands behind the language of its block."""
    for block in blocks_of(sections(PAGE)[heading], PAGE.name):
        for line in lines(block.text):
            yield line, block.info


def follow(stranger: Stranger, heading: str, unchanged: Callable[[], object] = lambda: None) -> None:
    """The section from its first line to its last; a dry run leaves `unchanged` as it was."""
    ran = 0
    for line, info in commands(heading):
        before = unchanged()
        if NEEDS_A_TERMINAL in info:
            if line != "cockpit tour":  # test_tour walks it
                stranger.looks(line)
        elif line.startswith("cockpit-exporter --listen"):
            continue  # runs until it is interrupted: the test starts it
        else:
            stranger.sees(line)
        assert "--dry-run" not in line or unchanged() == before, line
        ran += 1
    assert ran, heading


def test_every_section_is_followed_here_or_on_the_demo() -> None:
    followed = ["Install", "Look around", "Submit a job", "Ask why one waits", "Grow a pool", "Clean up"]
    assert {*sections(PAGE)} == {*followed, *ON_THE_DEMO, "Your own cluster", "GPU metrics of a node"}


def test_the_page_leads_a_stranger_from_install_to_a_changed_cluster(stranger: Stranger, bed: Bed) -> None:
    follow(stranger, "Install")
    follow(stranger, "Look around")
    (stranger.home / ".kube").mkdir()
    shutil.copy(bed.kubeconfig, stranger.home / ".kube/config")
    follow(stranger, "Your own cluster")

    follow(stranger, "Submit a job", lambda: there(bed, JOB) is None)
    job = there(bed, JOB)
    assert job is not None and job["status"]["active"] == 1
    follow(stranger, "Ask why one waits")
    assert there(bed, GANG) is None, "the page kills it"

    follow(stranger, "Grow a pool", lambda: bed.api().get(DEPLOYMENT)["spec"]["replicas"])
    assert bed.api().get(DEPLOYMENT)["spec"]["replicas"] == 5
    until("the fifth node has its GPU", lambda: gpu_nodes(bed) == 5 or None, PATIENCE_SECONDS)
    follow(stranger, "Clean up")
    until("the job is gone", lambda: there(bed, JOB) is None or None, PATIENCE_SECONDS)


def test_the_exporter_of_the_page_is_installed_started_and_read(stranger: Stranger) -> None:
    heading = "GPU metrics of a node"
    (started,) = (line for line, _ in commands(heading) if line.startswith("cockpit-exporter --listen"))
    install, *rest = (line for line, _ in commands(heading) if line != started)
    stranger.sees(install)
    words = stranger.typed(started).split()
    program = str(stranger.home / ".local/bin" / words[0])
    exporter = subprocess.Popen(
        [program, *words[1:]], env=stranger.environment, stderr=subprocess.PIPE, text=True, cwd=stranger.home
    )
    try:
        assert exporter.stderr is not None
        assert re.search(r"serving on \S+:(\d+)", exporter.stderr.readline())
        for line in rest:
            stranger.sees(line)
    finally:
        exporter.terminate()
        exporter.communicate(timeout=30)
