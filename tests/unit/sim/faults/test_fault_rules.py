"""Rules as data: what is read, the sentence about what is wrong, and which requests meet which fault."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.clock import ManualClock
from cockpit.errors import BadInput
from cockpit.sim.faults.exchange import SeenRequest
from cockpit.sim.faults.reading import FAULTS, BadFault, read_rules
from cockpit.sim.faults.script import Script
from cockpit.sim.faults.target import FaultTarget, target_of
from cockpit.sim.scenarios.loading import parse

PODS = "/api/v1/namespaces/team-a/pods"


def seen(
    path: str = PODS, *, method: str = "GET", query: Mapping[str, str] | None = None, user: str = ""
) -> SeenRequest:
    return SeenRequest(method, path, query or {}, {}, 0.0, user)


def script(*rules: Mapping[str, Any], clock: ManualClock | None = None, seed: int = 1) -> Script:
    return Script.read(rules, clock or ManualClock(), seed)


def hits(one: Script, *requests: SeenRequest) -> list[bool]:
    return [one.choose(request) is not None for request in requests]


# ---- reading


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ({}, "faults[0].do: missing; say what happens, one of status, delay, "),
        (
            "drop",
            "faults[0]: 'drop' has no fields; give some of match, do, start, last, skip, count, chance.",
        ),
        ({"do": {"drop": True}, "macth": {}}, "faults[0].macth: no such field; known are match, do, "),
        ({"do": {"dorp": True}}, "faults[0].do.dorp: no such field; known are status, "),
        ({"do": {"drop": True, "delay": 1}}, "faults[0].do: 2 faults at once; give exactly one of status, "),
        ({"do": {"drop": 3}}, "faults[0].do.drop: 3 says nothing here; write drop: true."),
        (
            {"do": {"status": 42}},
            "faults[0].do.status.code: 42 is no HTTP status of a failure; give a whole number "
            "from 400 to 599.",
        ),
        ({"do": {"status": {"reason": "Expired"}}}, "faults[0].do.status.code: missing; status needs it."),
        (
            {"do": {"status": {"code": 503, "retry": 1}}},
            "faults[0].do.status.retry: no such field; known are code, ",
        ),
        ({"do": {"delay": "2 weeks"}}, "faults[0].do.delay.seconds: '2 weeks' is no duration; write 90, "),
        (
            {"do": {"cut": {"after_bytes": 1, "after_events": 1}}},
            "faults[0].do.cut: after_bytes and after_events ",
        ),
        ({"do": {"cut": {"orderly": 1}}}, "faults[0].do.cut.orderly: 1 is not true or false."),
        (
            {"do": {"drop": True}, "chance": 0},
            "faults[0].chance: 0 is no share; give a number above 0 and up to 1.",
        ),
        (
            {"do": {"drop": True}, "count": 0},
            "faults[0].count: 0 is no count; give a whole number from 1 to ",
        ),
        ({"do": {"drop": True}, "start": -1}, "faults[0].start: -1 is below 0."),
        (
            {"do": {"drop": True}, "match": {"verb": []}},
            "faults[0].match.verb: an empty list fits nothing; leave the ",
        ),
        (
            {"do": {"drop": True}, "match": {"name": 3}},
            "faults[0].match.name: 3 is no text; give a word or a sentence.",
        ),
        (
            {"do": {"gone": 0}, "match": {"verb": "list"}},
            "faults[0].match.verb: gone happens to watches only; give watch ",
        ),
        (
            {"do": {"expire_token": True}},
            "faults[0].match.user: missing; name the user whose token runs out.",
        ),
    ],
)
def test_what_is_wrong_is_told_in_one_sentence(rule: Any, sentence: str) -> None:
    with pytest.raises(BadFault) as refused:
        read_rules([rule])
    assert refused.value.sentence.startswith(sentence)
    assert refused.value.path[0] == 0


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-5, 600)
        | st.sampled_from([*FAULTS, "do", "match", "10s", ""]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from([*FAULTS, "do", "match", "code", "verb", "start"]), inner, max_size=3
            )
        ),
        max_leaves=12,
    )
)
def test_any_data_is_read_or_refused_in_a_sentence(data: Any) -> None:
    try:
        rules = read_rules([data])
    except BadFault as error:
        assert "\n" not in error.sentence and error.sentence.startswith("faults[0]")
    else:
        assert rules[0].fault in FAULTS


# ---- which request


@pytest.mark.parametrize(
    ("method", "path", "query", "target"),
    [
        ("GET", PODS, {}, FaultTarget("list", "pods", "team-a")),
        ("GET", PODS, {"watch": "1"}, FaultTarget("watch", "pods", "team-a")),
        ("GET", f"{PODS}/p/log", {}, FaultTarget("get", "pods/log", "team-a", "p")),
        ("POST", f"{PODS}/p/eviction", {}, FaultTarget("create", "pods/eviction", "team-a", "p")),
        (
            "DELETE",
            "/apis/kueue.x-k8s.io/v1beta2/workloads",
            {},
            FaultTarget("deletecollection", "workloads.kueue.x-k8s.io"),
        ),
        ("PATCH", "/api/v1/nodes/n", {}, FaultTarget("patch", "nodes", "", "n")),
        ("GET", "/api/v1/namespaces/team-a", {}, FaultTarget("get", "namespaces", "", "team-a")),
        (
            "PUT",
            "/api/v1/namespaces/team-a/status",
            {},
            FaultTarget("update", "namespaces/status", "", "team-a"),
        ),
        ("GET", "/version", {}, FaultTarget("get")),
        ("GET", "/apis/batch/v1", {}, FaultTarget("get")),
    ],
)
def test_a_path_is_read_as_the_server_reads_it(
    method: str, path: str, query: dict[str, str], target: FaultTarget
) -> None:
    assert target_of(method, path, query) == target


def test_patterns_must_all_fit() -> None:
    one = script(
        {"match": {"kind": ["pods", "pods/*"], "user": "viewer", "namespace": "team-?"}, "do": {"drop": True}}
    )
    assert hits(
        one,
        seen(user="viewer"),
        seen(f"{PODS}/p/log", user="viewer"),
        seen(user="admin"),
        seen("/api/v1/pods", user="viewer"),
        seen("/api/v1/namespaces/team-a/podtemplates", user="viewer"),
    ) == [True, True, False, False, False]


def test_the_first_rule_that_takes_a_request_has_it() -> None:
    one = script(
        {"match": {"verb": "watch"}, "do": {"gone": 2}},
        {"match": {"path": "/api/*"}, "do": {"status": 503}, "count": 1},
        {"do": {"delay": "1s"}},
    )
    for request in (seen(), seen(query={"watch": "true"}), seen()):
        assert one.choose(request) is not None
    assert [(fired.rule, fired.fault) for fired in one.fired] == [(1, "status"), (0, "gone"), (2, "delay")]


def test_skip_and_count() -> None:
    one = script({"do": {"drop": True}, "skip": 2, "count": 3})
    assert hits(one, *[seen()] * 7) == [False, False, True, True, True, False, False]


def test_a_rule_lives_in_its_window_of_the_clock() -> None:
    clock = ManualClock()
    one = script({"do": {"drop": True}, "start": "30s", "last": "1m"}, clock=clock)
    found = []
    for _ in range(5):
        found += hits(one, seen())
        clock.advance(25.0)
    assert found == [False, False, True, True, False]
    assert [fired.at_seconds for fired in one.fired] == [50.0, 75.0]


def test_a_token_runs_out_at_its_moment_for_its_user_only() -> None:
    clock = ManualClock()
    one = script({"match": {"user": "viewer"}, "do": {"expire_token": True}, "start": 10}, clock=clock)
    assert hits(one, seen(user="viewer")) == [False]
    clock.advance(10.0)
    assert hits(one, seen(user="viewer"), seen(user="admin"), seen(user="viewer")) == [True, False, True]


@given(st.integers(0, 1000), st.floats(0.1, 0.9))
def test_chance_follows_the_seed(seed: int, chance: float) -> None:
    rule = {"do": {"drop": True}, "chance": chance}
    requests = [seen()] * 40
    assert hits(script(rule, seed=seed), *requests) == hits(script(rule, seed=seed), *requests)


def test_a_request_that_another_rule_had_does_not_move_the_dice_of_the_next() -> None:
    dice = {"match": {"kind": "pods"}, "do": {"drop": True}, "chance": 0.5}
    other = {"match": {"kind": "nodes"}, "do": {"drop": True}}
    plain = hits(script(dice, seed=4), *[seen()] * 20)
    mixed = script(other, dice, seed=4)
    # The rule's place is part of its seed: the same place, so that the same dice are thrown.
    same = script({**other, "match": {"kind": "nix"}}, dice, seed=4)
    assert hits(mixed, *[seen(), seen("/api/v1/nodes")] * 20)[::2] == hits(same, *[seen()] * 20)
    assert len(plain) == 20


# ---- in a scenario


SCENARIO = """\
name: shaky
title: The server has a bad day
faults:
- match: {verb: list, kind: pods}
  do: {status: 503}
- match: {user: viewer}
  do:
    %s
"""


def test_a_scenario_carries_faults_and_names_the_line_of_a_wrong_one() -> None:
    good = parse(SCENARIO % "expire_token: true", "shaky.yaml")
    assert [rule.fault for rule in read_rules(good.faults)] == ["status", "expire_token"]
    with pytest.raises(BadInput) as refused:
        parse(SCENARIO % "delay: soon", "shaky.yaml")
    assert refused.value.sentence == (
        "shaky.yaml, line 8, faults[1].do.delay.seconds: 'soon' is no duration; write 90, 90s or 2m30s."
    )
