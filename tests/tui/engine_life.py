"""A gang under one engine from the form to nothing left, by keys; the truth is asked past the cockpit.

The same on the real bed (a terminal in tmux, the truth from kubectl: `test_engines_real`,
`test_kueue_topology_real`) and on the embedded cluster (`test_engines_on_the_embedded_cluster`).
"""

from collections.abc import Mapping
from typing import Any

from cockpit.gangs.coscheduling import API_VERSION, LABEL, SCHEDULER
from tests.tui.engine_ground import Ground
from tests.tui.engine_ways import Way
from tests.tui.form_keys import fill, jump
from tests.tui.on_the_bed import until
from tests.tui.seat import Seat

NAMESPACE = "team-a"
GPUS_EACH = 4
FITS, LATE = 2, 3
"""Pods of the gang that fits, and of the one for which there is room only when that one is gone."""
DEADLINE_SECONDS = 120.0


# ---- the truth


def pods(ground: Ground, prefix: str) -> list[dict[str, Any]]:
    """Pods of the gang."""
    return [one for one in ground.pods(NAMESPACE) if one["metadata"]["name"].startswith(f"{prefix}-")]


def bound(ground: Ground, prefix: str) -> list[str]:
    """Nodes that pods of the gang sit on, one entry a pod."""
    return [one["spec"]["nodeName"] for one in pods(ground, prefix) if one["spec"].get("nodeName")]


def running(ground: Ground, prefix: str) -> int:
    return sum((one.get("status") or {}).get("phase") == "Running" for one in pods(ground, prefix))


def refused(ground: Ground, prefix: str, count: int) -> bool | None:
    """True once a scheduler said of each pod that it cannot be placed now."""
    said = 0
    for one in pods(ground, prefix):
        conditions = (one.get("status") or {}).get("conditions") or []
        said += any(it["type"] == "PodScheduled" and it["status"] == "False" for it in conditions)
    return True if said == count else None


def left(ground: Ground, kinds: str, prefix: str) -> list[str]:
    """Objects of these kinds that still carry the gang's name."""
    return [one for one in ground.names(kinds, NAMESPACE) if prefix in one]


# ---- by keys


def fill_in(terminal: Seat, wanted: Mapping[str, str], queue: str) -> None:
    """Each wanted field takes its text in place of what it holds.

    Where the namespace has a queue, an engine is chosen once the form has found it: what it filled in by
    itself before, it would fill in anew. The one queue of the namespace is filled in by the form.
    """
    for label, text in wanted.items():
        if label == "Queue" or (label == "Engine" and queue):
            jump(terminal, "Queue")
            terminal.until_line((queue,), "Queue")
        if label != "Queue":
            fill(terminal, {label: text})


def open_form(terminal: Seat, way: Way) -> None:
    """`N` on the jobs place, and the engine's template."""
    terminal.keys("2")
    terminal.until("State", "Why")
    terminal.keys("N")
    terminal.until("Name *", "Image *", "new mpijob")
    if way.template != "mpijob":
        terminal.keys("F2")
        terminal.until("Template", "type to search")
        terminal.type(way.template)
        terminal.keys("Enter")
        terminal.until(f"new {way.template}", "Name *", "Image *", without=("type to search",))


def submit(
    terminal: Seat, ground: Ground, way: Way, name: str, workers: int, foresight: tuple[str, ...]
) -> None:
    """The gang through the form; the form says what the engine means and whether it fits now."""
    open_form(terminal, way)
    values = {"Name": name, "Namespace": NAMESPACE, "Image": "example/train:1"}
    sizes = {f"{way.workers}": str(workers), "GPUs each": str(GPUS_EACH)}
    fill_in(terminal, {**values, **sizes, **way.values}, ground.queue)
    terminal.until("server: the cluster would accept it", f"{workers * GPUS_EACH} GPUs in total")
    for said in (*way.says, *foresight):
        terminal.until_body(said)
    terminal.keys("C-s")
    terminal.until(f"Submit {way.kind} {NAMESPACE}/{name}", "y or enter")
    terminal.keys("y")
    terminal.until(f"{NAMESPACE}/{name}", "Members by rank")


def find(terminal: Seat, name: str, other: str) -> None:
    """The jobs place with the cursor on that job alone."""
    terminal.keys("2")
    terminal.until("State", "Why", without=("Members by rank",))
    terminal.keys("/")
    terminal.until("esc drop it")
    terminal.keys("Escape")  # what was filtered before; a key right behind would be taken as alt and that key
    terminal.until(without=("esc drop it",))
    terminal.find(f"{NAMESPACE}/{name}")
    terminal.until(f"{NAMESPACE}/{name}", without=(f"{NAMESPACE}/{other}",))


def do(terminal: Seat, key: str, asked: str, told: str) -> None:
    """A capital key, its confirmation, yes, and what is told after it; each once.

    That a controller writes the object at that moment is no reason to press a key again.
    """
    terminal.keys(key)
    terminal.until(asked, "The same from a shell")
    terminal.keys("y")
    terminal.until(told, seconds=DEADLINE_SECONDS)


def life(terminal: Seat, ground: Ground, way: Way, word: str) -> None:
    """Fits and runs; else binds nothing and starts when there is room; is suspended, resumed, killed."""
    first, late = f"{word}-first", f"{word}-late"
    allocated, wanted = FITS * GPUS_EACH, LATE * GPUS_EACH
    few, many = FITS + way.beside, LATE + way.beside
    submit(terminal, ground, way, first, FITS, ("fits now",))
    terminal.until(
        "● running", f"{FITS}/{FITS} ready", f"{allocated}/{allocated} allocated", seconds=DEADLINE_SECONDS
    )
    assert len(bound(ground, first)) == running(ground, first) == few

    submit(terminal, ground, way, late, LATE, way.foresees)
    terminal.until("◌ queued", f"0/{wanted} allocated", seconds=DEADLINE_SECONDS)
    if not way.waits_for_quota:
        until("a scheduler refused all of it", lambda: refused(ground, late, many), DEADLINE_SECONDS)
    assert bound(ground, late) == []
    terminal.keys("2")
    terminal.until_one_in_line(way.why, f"{NAMESPACE}/{late}", "queued")
    assert bound(ground, late) == []

    find(terminal, first, late)
    do(terminal, "K", f"Kill {way.kind} {NAMESPACE}/{first}", f"Killed {way.kind} {NAMESPACE}/{first}")
    until("nothing of the first is left", lambda: None if left(ground, way.kinds, first) else True)

    find(terminal, late, first)
    if not way.retries:
        retry(terminal, ground, way, late)
    terminal.until_line(("running", f"{wanted}/{wanted}"), f"{NAMESPACE}/{late}", seconds=DEADLINE_SECONDS)
    assert len(bound(ground, late)) == running(ground, late) == many

    hold_and_resume(terminal, ground, way, late)
    do(terminal, "K", f"Kill {way.kind} {NAMESPACE}/{late}", f"Killed {way.kind} {NAMESPACE}/{late}")
    until("nothing of either is left", lambda: None if left(ground, way.kinds, f"{word}-") else True)


def retry(terminal: Seat, ground: Ground, way: Way, name: str) -> None:
    """`T`: the blocked group is touched, and binds whole."""
    assert bound(ground, name) == []
    do(terminal, "T", f"Retry podgroup {NAMESPACE}/{name}", f"Retried podgroup {NAMESPACE}/{name}")


def hold_and_resume(terminal: Seat, ground: Ground, way: Way, name: str) -> None:
    """`P` takes it off its nodes, and `P` again brings it back whole."""
    do(terminal, "P", f"Suspend {way.kind} {NAMESPACE}/{name}", f"Suspended {way.kind} {NAMESPACE}/{name}")
    until("no pod of it holds a node", lambda: None if bound(ground, name) else True, DEADLINE_SECONDS)
    terminal.until_line(("suspended",), f"{NAMESPACE}/{name}")
    do(terminal, "P", f"Resume {way.kind} {NAMESPACE}/{name}", f"Resumed {way.kind} {NAMESPACE}/{name}")
    terminal.until_line(("running",), f"{NAMESPACE}/{name}", seconds=DEADLINE_SECONDS)
    many = LATE + way.beside
    until("all of it runs", lambda: True if running(ground, name) == many else None, DEADLINE_SECONDS)


BEYOND = 5
"""Pods of the gang whose quota suffices and whose GPUs do not: 20 of 16."""


def half_binds(terminal: Seat, ground: Ground, way: Way, name: str) -> None:
    """Beyond the free GPUs, inside the quota: the form warned, one member waits, and it is killed whole."""
    submit(terminal, ground, way, name, BEYOND, way.foresees)
    until("what fits of it runs", lambda: True if running(ground, name) == BEYOND - 1 else None, 120.0)
    assert len(bound(ground, name)) == BEYOND - 1, "the others hold their GPUs while one waits"
    terminal.keys("2")
    terminal.until("State", "Why", without=("Members by rank",))
    terminal.find(f"{NAMESPACE}/{name}")
    terminal.until_line(("pending",), f"{NAMESPACE}/{name}")
    do(terminal, "K", f"Kill {way.kind} {NAMESPACE}/{name}", f"Killed {way.kind} {NAMESPACE}/{name}")
    until("nothing is left", lambda: None if left(ground, way.kinds, name) else True, 120.0)


def make_bare_gang(ground: Ground, name: str, count: int) -> None:
    """Pods without a controller, in one group of coscheduling."""
    group = f"/apis/{API_VERSION}/namespaces/{NAMESPACE}/podgroups"
    tree = {"apiVersion": API_VERSION, "kind": "PodGroup", "metadata": {"name": name}}
    ground.create(group, {**tree, "spec": {"minMember": count}})
    resources = {"limits": {"nvidia.com/gpu": str(GPUS_EACH), "cpu": "1", "memory": "1Gi"}}
    for rank in range(count):
        metadata = {"name": f"{name}-{rank}", "labels": {LABEL: name}}
        container = {"name": "main", "image": "example/train:1", "resources": resources}
        spec = {"schedulerName": SCHEDULER, "containers": [container]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        ground.create(f"/api/v1/namespaces/{NAMESPACE}/pods", pod)


def bare_pods(terminal: Seat, ground: Ground, name: str) -> None:
    """A gang of bare pods is one row, says that it cannot be suspended, and is killed whole."""
    make_bare_gang(ground, name, FITS)
    until("both run", lambda: True if running(ground, name) == FITS else None, DEADLINE_SECONDS)
    terminal.keys("2")
    terminal.until("State", "Why", f"{NAMESPACE}/{name}", without=(f"{NAMESPACE}/{name}-0",))
    terminal.find(f"{NAMESPACE}/{name}")
    terminal.keys("P")
    terminal.until("cannot be suspended")
    assert running(ground, name) == FITS
    terminal.keys("K")
    terminal.until(f"Kill gang {NAMESPACE}/{name}", f"delete all {FITS} pods", "The same from a shell")
    terminal.keys("y")
    until("none is left", lambda: True if not pods(ground, name) else None, DEADLINE_SECONDS)
