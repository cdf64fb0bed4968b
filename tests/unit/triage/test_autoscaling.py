"""What an autoscaler is doing for a pod, over time: recorded cases of the real Karpenter, looked at later."""

from datetime import datetime, timedelta

import msgspec
import pytest

from cockpit.model.finding import Finding
from cockpit.pools.stage import GPUS_LIMIT_SECONDS
from cockpit.triage.engine import explain
from tests.triage.case import CASES, Case, Tree, read_case
from tests.triage.world import view_of


def case(name: str) -> Case:
    return read_case(CASES / name)


def seen(of: Case, later_seconds: float = 0.0) -> Finding:
    file = msgspec.structs.replace(of.file, now=of.file.now + later_seconds)
    return explain(file.subject, view_of(msgspec.structs.replace(of, file=file)))


def without(of: Case, reason: str) -> Case:
    events = [one for one in of.objects["events"] if one["reason"] != reason]
    return msgspec.structs.replace(of, objects={**of.objects, "events": events})


@pytest.mark.parametrize("name", ["node-coming-gpus-to-come-1", "node-coming-gpus-to-come-2"])
def test_a_driver_that_takes_long_is_not_broken_before_the_limit_of_its_pool(name: str) -> None:
    of = case(name)  # 4 minutes after the node
    node = of.file.names[0]
    limit = int(GPUS_LIMIT_SECONDS / 60) - 4
    for minutes in (0, 8, 21, limit - 1):
        found = seen(of, minutes * 60)
        assert (found.cause, node in dict(found.facts).values()) == ("node-coming", True), minutes
        assert "waits for the GPU driver on" in found.sentence and "down" not in found.sentence
        assert " UTC at most" in found.sentence, "a hope has an end"
    late = seen(of, (limit + 1) * 60)
    assert "waits for the GPU driver" not in late.sentence


def test_nobody_has_to_say_that_a_node_is_new() -> None:
    of = without(case("node-coming-gpus-to-come-1"), "Nominated")
    assert seen(of).cause == "node-coming"


def test_a_machine_is_on_its_way_to_a_pool_of_none() -> None:
    of = case("node-coming-machine-launched-2")
    found = seen(of)
    assert found.cause == "node-coming" and found.also[0] in ("gpus-short", "resource-not-offered")
    assert "waits for nodeclaim/" in found.sentence
    unsaid = seen(without(of, "Nominated"))
    assert (unsaid.cause, unsaid.also[0]) == ("node-coming", found.also[0])
    assert "at 0 nodes, may bring one that takes it" in unsaid.sentence


def test_a_claim_that_follows_one_that_failed_counts_when_it_has_been_launched() -> None:
    of = case("no-machine-cloud-is-out-of-them-1")
    assert seen(of).cause == "no-machine"
    (pool,) = of.file.names
    told = next(one for one in of.objects["events"] if one["reason"] == "Nominated")
    claim = f"{pool}-new42"
    again = {
        **told,
        "metadata": {**told["metadata"], "name": "again", "uid": "again"},
        "message": f"Pod should schedule on: nodeclaim/{claim}",
        "lastTimestamp": (datetime.fromisoformat(told["lastTimestamp"]) + timedelta(minutes=1)).isoformat(),
    }
    assert seen(with_events(of, again)).cause == "no-machine", "the next claim fails like the first"
    launched = {
        **again,
        "metadata": {**told["metadata"], "name": "launched", "uid": "launched"},
        "involvedObject": {"kind": "NodeClaim", "name": claim, "uid": "claim"},
        "reason": "Launched",
        "message": "Status condition transitioned, Type: Launched, Status: Unknown -> True",
    }
    found = seen(with_events(of, again, launched))
    assert found.cause == "node-coming" and claim in dict(found.facts)["node"]


def with_events(of: Case, *more: Tree) -> Case:
    return msgspec.structs.replace(of, objects={**of.objects, "events": [*of.objects["events"], *more]})
