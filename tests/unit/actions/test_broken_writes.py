"""Row 59 of the reliability table: a write that a kill broke off is told at the next start, each once."""

import os
import random
import signal
from pathlib import Path
from typing import Any

import pytest

from cockpit.actions.execute.broken_writes import APPLIED, NOT_APPLIED, UNTOLD, acknowledge, read_left_over
from cockpit.actions.execute.execute_plan import carry_out
from cockpit.clock import ManualClock
from cockpit.local_state.audit import Audit, Entry
from cockpit.local_state.process import may_still_run, process_here
from cockpit.model.plan import Call, Plan
from tests.reliability.figures import Tell
from tests.unit.actions.builders import Line, Reply

NODES = "/api/v1/nodes/"
KILLS = 60


def cordons(count: int) -> Plan:
    return Plan(
        verb="cordon",
        title="Cordon nodes",
        calls=tuple(
            Call(
                method="PATCH",
                path=f"{NODES}n{number}",
                body={
                    "metadata": {"uid": f"u{number}", "resourceVersion": "7"},
                    "spec": {"unschedulable": True},
                },
                target=f"node n{number}",
            )
            for number in range(count)
        ),
    )


def node(number: int, *, is_cordoned: bool = False, version: str = "7") -> dict[str, Any]:
    return {
        "kind": "Node",
        "metadata": {"uid": f"u{number}", "resourceVersion": version},
        "spec": {"unschedulable": True} if is_cordoned else {},
    }


async def no_pause(_seconds: float) -> None:
    """Time that passes at once."""


async def killed_at(audit: Audit, plan: Plan, steps: int) -> None:
    """Carry the plan out and die by SIGKILL at that step: before or after the server did a call."""
    left = steps

    def step() -> None:
        nonlocal left
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    async def perform(_session: Any, _call: Call, *, dry_run: bool = False) -> Reply:
        del dry_run
        step()  # the line before is written, the server has done nothing
        step()  # the server has done it
        return Reply(200, {"kind": "Node"})

    class Dying(Audit):
        def append(self, entry: Entry) -> None:
            audit.append(entry)
            if entry.step == "outcome":
                step()  # between two calls

    await carry_out(plan, Line(), Dying(audit.path), ManualClock(), perform=perform, sleep=no_pause)


def in_a_fork(audit: Audit, plan: Plan, steps: int) -> bool:
    """Whether the child died by SIGKILL."""
    import asyncio

    child = os.fork()
    if not child:
        asyncio.new_event_loop().run_until_complete(killed_at(audit, plan, steps))
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


async def left_in(audit: Audit, line: Line, **more: Any) -> Any:
    return await read_left_over(line, audit, "ann@here", ManualClock(), sleep=no_pause, **more)


@pytest.mark.row(59, "intents found of those that were broken off", least=1)
@pytest.mark.row(59, "told with the right outcome", least=1)
@pytest.mark.row(59, "told that were over", most=0)
@pytest.mark.row(59, "kills", least=KILLS)
def test_every_write_that_a_kill_broke_off_is_found_with_what_became_of_it(
    tmp_path: Path, figure: Tell
) -> None:
    """The kills are real; the answers of the next start are asked in this process."""
    import asyncio

    rng = random.Random(59)
    told = broken = right = spurious = killed = 0
    for number in range(KILLS):
        audit = Audit(tmp_path / f"{number}.jsonl", who="ann@here")
        calls = rng.randint(1, 3)
        steps = rng.randrange(3 * calls)
        killed += in_a_fork(audit, cordons(calls), steps)
        at, phase = divmod(steps, 3)
        line = Line(objects={f"{NODES}n{at}": node(at, is_cordoned=phase > 0, version="8" if phase else "7")})
        found = asyncio.run(left_in(audit, line)).writes
        is_over = phase == 2 and at == calls - 1  # its last line was written
        if is_over:
            spurious += len(found)
            continue
        broken += 1
        for write in found[:1]:
            told += write.target == f"node n{at}"
            right += write.effect == (NOT_APPLIED if phase == 0 else APPLIED)
            assert (write.done, write.calls, write.is_between) == (at + (phase == 2), calls, phase == 2)
    figure("intents found of those that were broken off", told / broken)
    figure("told with the right outcome", right / broken)
    figure("told that were over", spurious)
    figure("kills", killed)
    assert broken > KILLS / 2


def dead(**fields: Any) -> Entry:
    """The line before a call of a process that is over."""
    about = {"step": "intent", "at_seconds": 1.0, "verb": "v", "target": "x", "context": "prod"}
    return Entry(**{"audit_id": "id1", "server": "https://prod.example", "user": "ann", **about, **fields})


PODS = "/api/v1/namespaces/a/pods"
PATCH = {"method": "PATCH", "path": f"{PODS}/p", "uid": "u1", "resource_version": "7"}
SUSPEND = {**PATCH, "wanted": {"spec": {"suspend": True}}}
LEASE = [
    {"op": "test", "path": "/spec/holderIdentity", "value": "ann"},
    {"op": "remove", "path": "/spec/holderIdentity"},
]


def about(uid: str = "u1", version: str = "7", **more: Any) -> dict[str, Any]:
    return {"uid": uid, "resourceVersion": version, **more}


@pytest.mark.parametrize(
    ("fields", "found", "effect", "why"),
    [
        (SUSPEND, {"metadata": about(version="8"), "spec": {"suspend": True}}, APPLIED, ""),
        (SUSPEND, {"metadata": about(), "spec": {"suspend": False}}, NOT_APPLIED, ""),
        (SUSPEND, {"metadata": about(version="9"), "spec": {"suspend": False}}, UNTOLD, "changed since"),
        (SUSPEND, {"metadata": about("u2"), "spec": {"suspend": True}}, UNTOLD, "recreated"),
        (SUSPEND, None, UNTOLD, "gone by now"),
        (PATCH, {"metadata": about()}, NOT_APPLIED, ""),
        ({**PATCH, "resource_version": ""}, {"metadata": about()}, UNTOLD, "not recorded"),
        ({**PATCH, "wanted": LEASE}, {"metadata": about(), "spec": {}}, APPLIED, ""),
        (
            {**PATCH, "wanted": LEASE},
            {"metadata": about(), "spec": {"holderIdentity": "ann"}},
            NOT_APPLIED,
            "",
        ),
        ({**PATCH, "method": "DELETE"}, None, APPLIED, ""),
        ({**PATCH, "method": "DELETE"}, {"metadata": about()}, NOT_APPLIED, ""),
        ({**PATCH, "method": "DELETE"}, {"metadata": about(deletionTimestamp="now")}, APPLIED, ""),
        ({**PATCH, "method": "POST", "path": f"{PODS}/p/eviction"}, {"metadata": about("u2")}, APPLIED, ""),
        ({**PATCH, "method": "POST", "path": f"{PODS}/p/eviction"}, {"metadata": about()}, NOT_APPLIED, ""),
        (
            {"method": "POST", "path": PODS, "wanted": {"metadata": {"name": "p"}}},
            {"metadata": {"annotations": {"gpu-cockpit/audit-id": "id1"}}},
            APPLIED,
            "",
        ),
        (
            {"method": "POST", "path": PODS, "wanted": {"metadata": {"name": "p"}}},
            {"metadata": {"annotations": {"gpu-cockpit/audit-id": "id2"}}},
            NOT_APPLIED,
            "another object has its name",
        ),
        ({"method": "GET", "path": f"{PODS}/p/exec", "verb": "enter"}, None, UNTOLD, "typed in it"),
        ({"method": "SetDesiredCapacity", "path": "eks/gpu"}, None, UNTOLD, "read the pool"),
    ],
)
async def test_what_became_of_it(
    tmp_path: Path, fields: dict[str, Any], found: dict[str, Any] | None, effect: str, why: str
) -> None:
    audit = Audit(tmp_path / "audit.jsonl", who="ann@here")
    audit.append(dead(**fields))
    line = Line(objects={} if found is None else {f"{PODS}/p": found})
    (write,) = (await left_in(audit, line, may_run=lambda _mark: False)).writes
    assert write.effect == effect
    assert why in write.why if why else not write.why


@pytest.mark.parametrize(
    "fields",
    [
        {"context": "other"},
        {"server": "https://other.example"},
        {"verb": "forward", "method": "GET"},
        {"step": "outcome", "state": "done"},
    ],
)
async def test_what_is_not_of_this_cluster_or_no_write_is_not_told(tmp_path: Path, fields: Any) -> None:
    audit = Audit(tmp_path / "audit.jsonl", who="ann@here")
    audit.append(dead(**{**PATCH, **fields}))
    assert (await left_in(audit, Line(), may_run=lambda _mark: False)).writes == ()


async def test_another_user_a_process_that_runs_and_what_is_known_are_not_told(tmp_path: Path) -> None:
    audit = Audit(tmp_path / "audit.jsonl", who="ann@here")
    Audit(audit.path, who="bob@here").append(dead(**PATCH, audit_id="of-bob"))
    Audit(audit.path, who="ann@there").append(dead(**PATCH, audit_id="of-there"))
    audit.append(dead(**PATCH))
    line = Line(objects={f"{PODS}/p": {"metadata": about()}})
    assert (await left_in(audit, line)).writes == ()  # it is this process
    (write,) = (await left_in(audit, line, may_run=lambda _mark: False)).writes
    assert write.audit_id == "id1"
    acknowledge(write, line, audit, ManualClock())
    assert (await left_in(audit, line, may_run=lambda _mark: False)).writes == ()


async def test_an_unknown_outcome_of_a_session_that_is_over_is_told(tmp_path: Path) -> None:
    audit = Audit(tmp_path / "audit.jsonl", who="ann@here")
    audit.append(dead(**SUSPEND))
    audit.append(dead(**SUSPEND, step="outcome", state="unknown"))
    line = Line(objects={f"{PODS}/p": {"metadata": about(version="8"), "spec": {"suspend": True}}})
    (write,) = (await left_in(audit, line, may_run=lambda _mark: False)).writes
    assert write.effect == APPLIED


async def test_a_drain_whose_cockpit_ended_is_told_until_another_one_is_begun(tmp_path: Path) -> None:
    audit = Audit(tmp_path / "audit.jsonl", who="ann@here")
    for step, state in (("intent", ""), ("outcome", "done")):
        audit.append(
            dead(audit_id="d1", verb="drain", target="node n1", step=step, state=state, call=1, calls=1)
        )
    found = await left_in(audit, Line(), may_run=lambda _mark: False)
    assert ([drain.node for drain in found.drains], found.writes) == (["n1"], ())
    assert (await left_in(audit, Line())).drains == ()


def test_a_process_is_known_by_its_start_and_its_boot() -> None:
    here = process_here()
    number, begun, boot, space = here.split(":")
    assert may_still_run(here) is True
    assert may_still_run(f"{number}:{int(begun) - 1}:{boot}:{space}") is False  # its number was given again
    assert may_still_run(f"{number}:{begun}:00000000:{space}") is False
    assert may_still_run(f"{number}:{begun}:{boot}:1") is None
    assert may_still_run("") is None
