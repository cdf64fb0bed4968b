"""kubectl on the served demo: what people do all day works, and reads as on a real API server.

The demo runs as `cockpit demo --serve` starts it. What needs no controller is done on the bed's real server
too, and what kubectl prints there is the same up to times, uids, versions and the order of conflicts.
"""

import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.bed.bed import Bed
from tests.bed.fixtures import bed_apiserver

__all__ = ["bed_apiserver"]

pytestmark = pytest.mark.real

_ROOT = Path(__file__).resolve().parents[2]
_SECONDS = 60.0
_CHANCE = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
        (r"20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+ \+0000|Z)", "TIME"),
        (r"\w{3}, \d\d \w{3} 20\d\d \d\d:\d\d:\d\d \+0000", "TIME"),
        (r"(LIVE|MERGED)-\d+", r"\1"),
        (r"W\d{4} [\d:.]+ +\d+ ", "WARNING "),
        (r"resourceVersion: \"\d+\"", "resourceVersion: VERSION"),
        (r"\b\d+(m\d+)?s\b", "AGE"),
        (r" {2,}", "  "),
    )
)

CONFIG = """
apiVersion: v1
kind: ConfigMap
metadata: {{name: settings, namespace: try}}
data: {{rate: "{rate}"}}
"""
NODE = """
apiVersion: v1
kind: Node
metadata: {name: idle-0, labels: {pool: idle}}
"""


@dataclass(frozen=True)
class Kubectl:
    """One server, as kubectl sees it."""

    program: str
    kubeconfig: Path

    def done(
        self, *arguments: str, context: str = "", stdin: str | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """One command, whatever comes of it."""
        chosen = ("--context", context) if context else ()
        return subprocess.run(
            [self.program, "--kubeconfig", str(self.kubeconfig), *chosen, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )

    def __call__(self, *arguments: str, context: str = "", stdin: str | None = None) -> str:
        """What a command prints; it has to succeed."""
        done = self.done(*arguments, context=context, stdin=stdin)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stdout}{done.stderr}"
        return done.stdout

    def refused(self, *arguments: str, context: str = "", stdin: str | None = None) -> str:
        """What a command complains of; it has to fail."""
        done = self.done(*arguments, context=context, stdin=stdin)
        assert done.returncode != 0, f"kubectl {' '.join(arguments)} did {done.stdout}"
        return done.stderr

    def stream(self, *arguments: str, lines: int) -> list[str]:
        """The first lines of a command that goes on; it is ended then."""
        command = [self.program, "--kubeconfig", str(self.kubeconfig), *arguments]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            try:
                return [process.stdout.readline() for _ in range(lines)]
            finally:
                process.kill()


@pytest.fixture(scope="module")
def real(bed_apiserver: Bed) -> Kubectl:
    return Kubectl(str(bed_apiserver.layout.programs["kubectl"]), bed_apiserver.kubeconfig)


@pytest.fixture(scope="module")
def demo(real: Kubectl) -> Iterator[Kubectl]:
    """The default demo, most of a minute old."""
    command = [sys.executable, "-m", "cockpit.sim", "--scenario", "default", "--warm", "40", "--with-parent"]
    with subprocess.Popen(
        command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        said = process.stdout.readline().strip()
        assert said.startswith("KUBECONFIG="), said
        try:
            yield Kubectl(real.program, Path(said.removeprefix("KUBECONFIG=")))
        finally:
            # Its end of standard input is how it learns that nobody is there any more.
            process.stdin.close()
            process.wait(10)


@pytest.fixture(scope="module")
def space(demo: Kubectl) -> str:
    demo("create", "namespace", "work")
    return "work"


def _running(demo: Kubectl, namespace: str) -> str:
    """The name of a pod that runs."""
    found = demo("get", "pods", "-n", namespace, "--field-selector=status.phase=Running", "-o", "name")
    return found.split()[0].removeprefix("pod/")


def test_nodes_and_pods_have_their_columns(demo: Kubectl) -> None:
    nodes = demo("get", "nodes").splitlines()
    assert nodes[0].split() == ["NAME", "STATUS", "ROLES", "AGE", "VERSION"]
    assert any(line.split()[1] == "Ready" for line in nodes[1:])
    pods = demo("get", "pods", "-A").splitlines()
    assert pods[0].split() == ["NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert any(" 1/1 " in line and " Running " in line for line in pods[1:])
    wide = demo("get", "pods", "-A", "-o", "wide").splitlines()[0]
    assert wide.split()[6:9] == ["IP", "NODE", "NOMINATED"]
    both = demo("get", "nodes,pods", "-A")
    assert "node/h100-0" in both and "pod/nvidia-dcgm-exporter" in both


def test_a_watch_goes_on(demo: Kubectl, space: str) -> None:
    assert demo.stream("get", "pods", "-A", "-w", lines=2)[0].startswith("NAMESPACE")
    demo("create", "configmap", "seen", "-n", space)
    lines = demo.stream("get", "configmaps", "-n", space, "--watch", "--output-watch-events", lines=2)
    assert lines[0].split() == ["EVENT", "NAME", "DATA", "AGE"]
    assert lines[1].split()[0] == "ADDED"


def test_what_is_described(demo: Kubectl) -> None:
    node = demo("describe", "node", "h100-0")
    assert re.search(r"^  nvidia.com/gpu +\d", node, re.MULTILINE)
    for part in ("Conditions:", "Capacity:", "Allocatable:", "Non-terminated Pods:", "Allocated resources:"):
        assert part in node
    pod = demo("describe", "pod", "-n", "research", _running(demo, "research"))
    for part in ("Node: ", "Containers:", "Conditions:", "Events:", "QoS Class:"):
        assert part in pod
    job = demo("describe", "job", "-n", "students", "augment")
    for part in ("Parallelism:", "Pods Statuses:", "Pod Template:", "SuccessfulCreate"):
        assert part in job


def test_logs_follow_and_commands_run(demo: Kubectl) -> None:
    pod = _running(demo, "research")
    lines = demo.stream("logs", "-f", "-n", "research", pod, "--tail=1", lines=2)
    assert len(lines) == 2 and all(lines)
    host = demo("exec", "-n", "research", pod, "--", "hostname").strip()
    assert host and pod.startswith(host)
    gone = demo.done("exec", "-n", "research", pod, "--", "no-such-program")
    assert gone.returncode != 0


def test_a_deployment_and_a_job_live(demo: Kubectl, space: str) -> None:
    demo("create", "deployment", "web", "-n", space, "--image=registry.test/serve:1", "--replicas=2")
    demo("create", "job", "once", "-n", space, "--image=registry.test/train:1", "--", "sleep", "5")
    assert "successfully rolled out" in demo("rollout", "status", "deployment/web", "-n", space)
    demo("scale", "deployment/web", "-n", space, "--replicas=3")
    met = demo("wait", "-n", space, "deployment/web", "--for=jsonpath={.status.readyReplicas}=3")
    assert met == "deployment.apps/web condition met\n"
    assert re.search(r"web +3/3 +3 +3", demo("get", "deployments", "-n", space))
    assert re.search(r"once +Running +0/1", demo("get", "jobs", "-n", space))
    assert demo("rollout", "restart", "deployment/web", "-n", space) == "deployment.apps/web restarted\n"
    assert "successfully rolled out" in demo("rollout", "status", "deployment/web", "-n", space)
    assert "2 " in demo("rollout", "history", "deployment/web", "-n", space)
    gone = demo("delete", "deployment/web", "job/once", "-n", space, "--wait", "--timeout=40s")
    assert gone.count("deleted") == 2
    assert demo.refused("get", "deployment", "web", "-n", space).startswith("Error from server (NotFound)")


def test_a_node_is_drained(demo: Kubectl) -> None:
    pod = _running(demo, "notebooks")
    node = demo("get", "pod", pod, "-n", "notebooks", "-o", "jsonpath={.spec.nodeName}")
    told = demo("drain", node, "--ignore-daemonsets", "--force", "--delete-emptydir-data", "--timeout=50s")
    assert f"node/{node} drained" in told and f"pod/{pod} evicted" in told
    assert "SchedulingDisabled" in demo("get", "node", node)
    assert demo("uncordon", node) == f"node/{node} uncordoned\n"


def test_what_each_person_may(demo: Kubectl) -> None:
    assert demo("auth", "can-i", "delete", "nodes") == "yes\n"
    assert demo("auth", "can-i", "create", "jobs", "-n", "team-a", context="engineer") == "yes\n"
    assert demo.done("auth", "can-i", "create", "jobs", "-n", "prod", context="engineer").stdout == "no\n"
    assert demo("get", "pods", "-A", context="viewer").startswith("NAMESPACE")
    assert "(Forbidden)" in demo.refused("get", "secrets", "-A", context="viewer")
    assert "(Forbidden)" in demo.refused("delete", "node", "h100-0", context="viewer")
    assert "(Forbidden)" in demo.refused("get", "pods", "-A", context="engineer")
    made = demo("create", "configmap", "mine", context="engineer")
    assert made == "configmap/mine created\n"
    assert demo.refused("get", "pods", "-A", context="nobody") == (
        'Error from server (Forbidden): pods is forbidden: User "nobody" cannot list resource "pods" in API '
        'group "" at the cluster scope\n'
    )


def _rights(demo: Kubectl, person: str, namespace: str) -> dict[str, set[str]]:
    """What `auth can-i --list` tells: verbs by resource, without paths and named objects."""
    rights: dict[str, set[str]] = {}
    for line in demo("auth", "can-i", "--list", "-n", namespace, context=person).splitlines()[1:]:
        found = re.fullmatch(r"(\S+) +\[\] +\[\] +\[(.*)\]", line)
        if found:
            rights.setdefault(found[1], set()).update(found[2].split())
    return rights


def test_what_each_person_may_is_listed(demo: Kubectl) -> None:
    reviews = {
        "selfsubjectaccessreviews.authorization.k8s.io",
        "selfsubjectrulesreviews.authorization.k8s.io",
    }
    listed = {
        (person, namespace): _rights(demo, person, namespace)
        for person in ("admin", "engineer", "viewer", "nobody")
        for namespace in ("team-a", "team-b")
    }
    assert all(reviews <= rights.keys() for rights in listed.values())
    assert listed["admin", "team-b"]["*.*"] == {"*"}
    own, foreign = listed["engineer", "team-a"], listed["engineer", "team-b"]
    assert {"create", "delete", "get", "watch"} <= own["jobs.batch"]
    assert "jobs.batch" not in foreign
    seen = listed["viewer", "team-b"]
    assert {"get", "list", "watch"} == seen["pods"] and "secrets" not in seen
    assert {name for name in listed["nobody", "team-a"] if "review" not in name} == set()


def test_what_is_served(demo: Kubectl) -> None:
    kinds = {line.split()[0] for line in demo("api-resources").splitlines()}
    assert {"pods", "nodes", "jobs", "deployments", "mpijobs", "leases", "poddisruptionbudgets"} <= kinds
    explained = demo("explain", "pod.spec.containers.resources.limits")
    assert "KIND:       Pod" in explained and "FIELD: limits <map[string]Quantity>" in explained
    assert demo.refused("top", "nodes") == "error: Metrics API not available\n"


JSON_PATCH = '[{"op":"replace","path":"/spec/minReadySeconds","value":2}]'
CONVERSATION: tuple[tuple[tuple[str, ...], str | None], ...] = (
    (("create", "namespace", "try"), None),
    (("create", "deployment", "web", "-n", "try", "--image=i:1", "--replicas=0", "--port=80"), None),
    (("create", "deployment", "web", "-n", "try", "--image=i:1"), None),
    (("create", "job", "once", "-n", "try", "--image=i:1", "--", "sleep", "5"), None),
    (("scale", "deployment/web", "-n", "try", "--replicas=0"), None),
    (("scale", "deployment/web", "-n", "try", "--replicas=0", "--current-replicas=4"), None),
    (("patch", "deployment", "web", "-n", "try", "-p", '{"spec":{"minReadySeconds":1}}'), None),
    (("patch", "deployment", "web", "-n", "try", "--type=merge", "-p", '{"spec":{"paused":true}}'), None),
    (
        ("patch", "deployment", "web", "-n", "try", "--type=json", "-p", JSON_PATCH),
        None,
    ),
    (("patch", "deployment", "web", "-n", "try", "-p", '{"spec":{"replicas":-1}}'), None),
    (("patch", "deployment", "web", "-n", "try", "-p", '{"spec":{"minReadySeconds":2}}'), None),
    (("set", "image", "deployment/web", "-n", "try", "i=i:2"), None),
    (("get", "deployment", "web", "-n", "try", "-o", "jsonpath={.spec}"), None),
    (("run", "bare", "-n", "try", "--image=i:1", "--dry-run=server"), None),
    (("apply", "-f", "-"), CONFIG.format(rate=1)),
    (("apply", "-f", "-"), CONFIG.format(rate=1)),
    (("diff", "-f", "-"), CONFIG.format(rate=2)),
    (("apply", "-f", "-"), CONFIG.format(rate=2)),
    (("apply", "-f", "-", "--dry-run=server"), CONFIG.format(rate=3)),
    (("apply", "-f", "-", "--server-side"), CONFIG.format(rate=2)),
    (("apply", "-f", "-", "--server-side", "--field-manager=other"), CONFIG.format(rate=3)),
    (
        ("apply", "-f", "-", "--server-side", "--field-manager=other", "--force-conflicts"),
        CONFIG.format(rate=3),
    ),
    (("diff", "-f", "-", "--server-side"), CONFIG.format(rate=4)),
    (("get", "configmap", "settings", "-n", "try", "-o", "yaml"), None),
    (("describe", "configmap", "settings", "-n", "try"), None),
    (("label", "configmap", "settings", "-n", "try", "tier=1"), None),
    (("label", "configmap", "settings", "-n", "try", "tier=2"), None),
    (("label", "configmap", "settings", "-n", "try", "tier=2", "--overwrite"), None),
    (("label", "configmap", "settings", "-n", "try", "tier-"), None),
    (("annotate", "configmap", "settings", "-n", "try", "note=so it is"), None),
    (("create", "quota", "most", "-n", "try", "--hard=pods=4,requests.cpu=2"), None),
    (("create", "-f", "-"), NODE),
    (("taint", "node", "idle-0", "maintenance=yes:NoSchedule"), None),
    (("taint", "node", "idle-0", "maintenance=no:NoSchedule"), None),
    (("taint", "node", "idle-0", "maintenance-"), None),
    (("cordon", "idle-0"), None),
    (("cordon", "idle-0"), None),
    (("get", "node", "idle-0", "-o", "jsonpath={.spec.unschedulable}"), None),
    (("uncordon", "idle-0"), None),
    (("expose", "deployment", "web", "-n", "try", "--port=80", "--dry-run=server"), None),
    (("auth", "can-i", "delete", "nodes"), None),
    (("auth", "can-i", "create", "pods", "--subresource=exec"), None),
    (("auth", "can-i", "--list"), None),
    (("auth", "can-i", "--list", "-n", "default"), None),
    (("top", "pods", "-n", "try"), None),
    (("get", "nonsense", "-n", "try"), None),
    (("get", "pods", "-n", "try", "--field-selector=spec.nonsense=1"), None),
    (("get", "pods", "-n", "try", "-l", "a in b"), None),
    (("delete", "configmap", "settings", "-n", "try", "--wait"), None),
    (("delete", "configmap", "settings", "-n", "try"), None),
    (("delete", "job", "once", "-n", "try", "--dry-run=server"), None),
    (("delete", "node", "idle-0", "--wait"), None),
)
"""What is said to both servers, in turn; a text is what stands on standard input."""


def _plain(done: "subprocess.CompletedProcess[str]") -> tuple[int, str, str]:
    def masked(text: str) -> str:
        for pattern, name in _CHANCE:
            text = pattern.sub(name, text)
        return text

    return done.returncode, masked(done.stdout), masked(done.stderr)


def test_a_conversation_reads_as_on_the_real_server(demo: Kubectl, real: Kubectl) -> None:
    # A bed that stays up may have heard it before.
    mark = uuid.uuid4().hex[:6]

    def named(text: str) -> str:
        return {"try": f"try-{mark}"}.get(text, text).replace("idle-0", f"idle-{mark}")

    found = []
    for arguments, text in CONVERSATION:
        words = [named(one) for one in arguments]
        stdin = text and text.replace("namespace: try", f"namespace: try-{mark}").replace(
            "idle-0", f"idle-{mark}"
        )
        here, there = (_plain(one.done(*words, stdin=stdin)) for one in (demo, real))
        if here != there:
            found.append(f"kubectl {' '.join(arguments)}\n  here  {here}\n  there {there}")
    assert not found, "\n".join(found)
