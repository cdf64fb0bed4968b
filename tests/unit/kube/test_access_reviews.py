"""Reviews that are kept: few questions, asked for the row under the cursor, and nothing made up."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cockpit.clock import ManualClock
from cockpit.k8s.policy_rules import PolicyRule
from cockpit.kube.access import allows
from cockpit.kube.access_reviews import FRESH_SECONDS, MOST_NAMESPACES, RETRY_SECONDS, AccessReviews
from cockpit.kube.session import ApiSession, SessionOptions, open_session
from cockpit.model.right import Permission, Right, lacking
from tests.unit.kube.builders import FakeServer, kubeconfig, refuse, reply

RULES = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
ACCESS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
KILL = Right("delete", "batch", "jobs", namespace="team-a", name="llm")
EXEC = Right("create", "", "pods", "exec", "team-a", "llm-0")
CORDON = Right("patch", "", "nodes", name="gpu-1")


def rule(verbs: str, groups: str, resources: str, names: str = "") -> dict[str, Any]:
    words = {"verbs": verbs, "apiGroups": groups, "resources": resources, "resourceNames": names}
    return {
        word: ["" if one == "core" else one for one in text.split()] for word, text in words.items() if text
    }


def told(*rules: dict[str, Any], **more: Any) -> Any:
    return reply({"status": {"resourceRules": list(rules), "nonResourceRules": [], **more}}, 201)


def allowed(*, yes: bool) -> Any:
    return reply({"status": {"allowed": yes}}, 201)


class Asked:
    """The reviews, and what was sent for them."""

    def __init__(self, session: ApiSession, server: FakeServer, clock: ManualClock) -> None:
        self.answers = 0
        self.naps: list[float] = []
        self.meanwhile: Callable[[], None] = lambda: None
        self.reviews = AccessReviews(session, clock.monotonic, self._answered, sleep=self._nap)
        self._server = server

    def _answered(self) -> None:
        self.answers += 1

    async def _nap(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.meanwhile()

    async def about(self, *rights: Right) -> list[Permission]:
        """Want these and nothing else; the verdicts once nothing more is to be asked."""
        self.reviews.want(rights)
        await self.reviews.ask_wanted()
        return [self.reviews.verdict(one) for one in rights]

    def sent(self) -> list[Any]:
        """Namespaces of rules reviews and attributes of access reviews since the last call."""
        bodies = [json.loads(one.body)["spec"] for one in self._server.seen if one.path in (RULES, ACCESS)]
        self._server.seen.clear()
        return [spec.get("namespace") or spec["resourceAttributes"] for spec in bodies]


@pytest.fixture
def asked(session: ApiSession, server: FakeServer, clock: ManualClock) -> Asked:
    return Asked(session, server, clock)


# ---- one question for a namespace


async def test_one_question_answers_for_a_whole_namespace(asked: Asked, server: FakeServer) -> None:
    server.on(RULES, told(rule("get list", "batch", "jobs"), rule("*", "core", "pods/exec")))
    assert await asked.about(KILL, EXEC) == [Permission.DENIED, Permission.ALLOWED]
    assert asked.sent() == ["team-a"]
    assert await asked.about(Right("patch", "batch", "jobs", namespace="team-a")) == [Permission.DENIED]
    assert asked.sent() == [], "known by now"


async def test_before_anything_is_asked_nothing_is_known(asked: Asked) -> None:
    assert asked.reviews.verdict(KILL) is Permission.UNKNOWN
    assert asked.sent() == []


@pytest.mark.parametrize("more", [{"incomplete": True}, {"evaluationError": "role gone"}])
@pytest.mark.parametrize("yes", [True, False])
async def test_what_incomplete_rules_leave_open_is_asked_for_alone(
    asked: Asked, server: FakeServer, more: dict[str, Any], *, yes: bool
) -> None:
    server.on(RULES, told(rule("create", "core", "pods/exec"), **more))
    server.on(ACCESS, allowed(yes=yes))
    assert await asked.about(KILL, EXEC) == [
        Permission.ALLOWED if yes else Permission.DENIED,
        Permission.ALLOWED,
    ]
    attributes = {"verb": "delete", "group": "batch", "resource": "jobs", "namespace": "team-a"}
    assert asked.sent() == ["team-a", attributes], "of any name, and what is listed is not asked for"


async def test_where_rules_are_not_told_the_name_is_asked_for_after_all_names(
    asked: Asked, server: FakeServer
) -> None:
    server.on(RULES, refuse(403, "Forbidden", "no"))
    server.on(ACCESS, allowed(yes=False), allowed(yes=True))
    assert await asked.about(KILL) == [Permission.ALLOWED]
    assert [one.get("name", "") for one in asked.sent()[1:]] == ["", "llm"]


async def test_no_answer_is_not_known_and_asked_again_after_a_while(
    asked: Asked, server: FakeServer, clock: ManualClock
) -> None:
    server.on(RULES, refuse(500, "InternalError", "no"))
    server.on(ACCESS, refuse(500, "InternalError", "no"))
    assert await asked.about(KILL) == [Permission.UNKNOWN]
    assert len(asked.sent()) == 2
    assert await asked.about(KILL) == [Permission.UNKNOWN]
    assert asked.sent() == []
    clock.advance(RETRY_SECONDS)
    server.on(RULES, told())
    assert await asked.about(KILL) == [Permission.DENIED]


@pytest.mark.parametrize(
    "tree",
    [
        {},
        {"status": None},
        {"status": {"resourceRules": "all"}},
        {"status": {"resourceRules": None}},
        {"status": {"resourceRules": [{"verbs": 7, "apiGroups": "batch", "resources": {"jobs": 1}}, "*"]}},
        [],
    ],
)
async def test_an_answer_in_another_shape_says_nothing_and_ends_nothing(
    asked: Asked, server: FakeServer, tree: Any
) -> None:
    server.on(RULES, reply(tree, 201))
    server.on(ACCESS, reply(tree, 201))
    assert await asked.about(KILL) == [Permission.UNKNOWN]


# ---- what is in no namespace


async def test_a_right_of_the_cluster_is_asked_for_by_itself(asked: Asked, server: FakeServer) -> None:
    server.on(ACCESS, allowed(yes=True))
    assert await asked.about(CORDON) == [Permission.ALLOWED]
    assert asked.sent() == [{"verb": "patch", "resource": "nodes"}]


async def test_a_right_to_one_node_is_asked_for_by_name(asked: Asked, server: FakeServer) -> None:
    server.on(ACCESS, allowed(yes=False), allowed(yes=True))
    other = Right("patch", "", "nodes", name="gpu-2")
    assert await asked.about(CORDON) == [Permission.ALLOWED]
    server.on(ACCESS, allowed(yes=False))
    assert await asked.about(other) == [Permission.DENIED]
    assert [one.get("name") for one in asked.sent()] == [None, "gpu-1", "gpu-2"]


# ---- how often


async def test_an_answer_holds_until_a_newer_one_comes(
    asked: Asked, server: FakeServer, clock: ManualClock
) -> None:
    server.on(RULES, told())
    await asked.about(KILL)
    clock.advance(FRESH_SECONDS)
    assert asked.reviews.verdict(KILL) is Permission.DENIED
    server.on(RULES, told(rule("*", "*", "*")))
    assert await asked.about(KILL) == [Permission.ALLOWED]


async def test_a_doubt_asks_again_at_once_and_for_that_namespace_only(
    asked: Asked, server: FakeServer
) -> None:
    other = Right("delete", "batch", "jobs", namespace="team-b")
    server.on(RULES, told())
    await asked.about(KILL, other)
    asked.sent()
    server.on(RULES, told(rule("*", "*", "*")))
    asked.reviews.doubt([KILL])
    assert asked.reviews.verdict(KILL) is Permission.DENIED, "until the new answer is there"
    assert await asked.about(KILL, other) == [Permission.ALLOWED, Permission.DENIED]
    assert asked.sent() == ["team-a"]


async def test_a_doubt_that_comes_behind_a_question_is_not_settled_by_its_answer(
    asked: Asked, server: FakeServer
) -> None:
    server.on(RULES, told(), told(rule("*", "*", "*")))
    questions: list[int] = []

    def doubtful() -> None:
        if not questions:
            asked.reviews.doubt([KILL])
        questions.append(1)

    asked.meanwhile = doubtful
    assert await asked.about(KILL) == [Permission.ALLOWED]
    assert asked.sent() == ["team-a", "team-a"]


@pytest.mark.parametrize("method", ["DELETE", "PATCH", "POST"])
async def test_a_write_that_the_server_refuses_for_want_of_a_right_asks_again(
    server: FakeServer, clock: ManualClock, tmp_path: Path, method: str
) -> None:
    options = SessionOptions(kubeconfig=kubeconfig(tmp_path, server.url), check=False, read_only=False)
    session = await open_session(options, clock)
    asked = Asked(session, server, clock)
    session.forbidden = asked.reviews.refused
    path = "/apis/batch/v1/namespaces/team-a/jobs/llm"
    server.on(RULES, told(rule("*", "*", "*")), told())
    server.on(path, refuse(403, "Forbidden", "no"))
    assert await asked.about(KILL) == [Permission.ALLOWED]
    await session.request("GET", path)
    assert await asked.about(KILL) == [Permission.ALLOWED]
    await session.request(method, path, body={})
    assert await asked.about(KILL) == [Permission.DENIED]
    await session.close()


async def test_a_review_that_is_refused_itself_is_not_asked_for_ever(
    asked: Asked, session: ApiSession, server: FakeServer
) -> None:
    session.forbidden = asked.reviews.refused
    server.on(RULES, refuse(403, "Forbidden", "no"))
    server.on(ACCESS, refuse(403, "Forbidden", "no"))
    assert await asked.about(KILL, CORDON) == [Permission.UNKNOWN] * 2
    assert len(asked.sent()) == 3


async def test_who_moves_on_asks_no_more_about_what_was_passed(asked: Asked, server: FakeServer) -> None:
    rows = [Right("delete", "batch", "jobs", namespace=f"team-{at}") for at in range(50)]
    server.on(RULES, told())

    def moves_on() -> None:
        asked.reviews.want(rows[-1:])

    asked.meanwhile = moves_on
    await asked.about(*rows)
    assert asked.sent() == ["team-0", "team-49"]
    assert asked.naps == [0.2, 0.2], "one at a time, with a pause between"


async def test_what_is_kept_is_bounded(asked: Asked, server: FakeServer) -> None:
    server.on(RULES, told())
    rows = [Right("delete", "batch", "jobs", namespace=f"n{at}") for at in range(MOST_NAMESPACES + 9)]
    for one in rows:
        await asked.about(one)
    assert [asked.reviews.verdict(one) for one in rows] == [
        *([Permission.UNKNOWN] * 9),
        *([Permission.DENIED] * MOST_NAMESPACES),
    ]


async def test_the_task_asks_whenever_something_is_wanted(
    session: ApiSession, server: FakeServer, clock: ManualClock
) -> None:
    server.on(RULES, told())
    came = asyncio.Event()
    reviews = AccessReviews(session, clock.monotonic, came.set, sleep=lambda _seconds: asyncio.sleep(0))
    working = asyncio.create_task(reviews.run())
    try:
        for space in ("a", "b"):
            reviews.want([Right("delete", "", "pods", namespace=space)])
            await asyncio.wait_for(came.wait(), 10)
            came.clear()
            assert reviews.verdict(Right("delete", "", "pods", namespace=space)) is Permission.DENIED
    finally:
        working.cancel()


# ---- what a rule grants

STAR = ("*",)
ANYTHING = PolicyRule(STAR, STAR, STAR)
A_RULE = PolicyRule(("get", "create"), ("",), ("pods/exec", "pods"))


def named(name: str) -> PolicyRule:
    return PolicyRule(STAR, STAR, STAR, (name,))


@pytest.mark.parametrize(
    ("held", "right", "verdict"),
    [
        (A_RULE, EXEC, Permission.ALLOWED),
        (A_RULE, Right("create", "", "pods"), Permission.ALLOWED),
        (A_RULE, Right("delete", "", "pods"), Permission.DENIED),
        (A_RULE, Right("create", "", "pods", "attach"), Permission.DENIED),
        (A_RULE, Right("create", "batch", "pods"), Permission.DENIED),
        (ANYTHING, EXEC, Permission.ALLOWED),
        (PolicyRule(STAR, STAR, ("*/exec",)), EXEC, Permission.ALLOWED),
        (PolicyRule(STAR, STAR, ("*/exec",)), KILL, Permission.DENIED),
        (PolicyRule(STAR, STAR, ("pods",)), EXEC, Permission.DENIED),
        (named("llm"), KILL, Permission.ALLOWED),
        (named("other"), KILL, Permission.DENIED),
        (
            named("x"),
            Right("patch", "", "nodes"),
            Permission.UNKNOWN,
        ),
    ],
)
def test_a_rule_grants_what_the_authorizer_would(held: PolicyRule, right: Right, verdict: Permission) -> None:
    assert allows(held, right) is verdict


@pytest.mark.parametrize(
    ("denied", "ways", "missing"),
    [
        ((), ((KILL,),), ()),
        ((KILL,), ((KILL,),), (KILL,)),
        ((KILL,), ((EXEC, KILL),), (KILL,)),
        ((KILL,), ((KILL,), (EXEC,)), ()),
        ((KILL, EXEC), ((KILL,), (EXEC,)), (KILL, EXEC)),
        ((KILL,), ((KILL,), (KILL,)), (KILL,)),
        ((KILL,), (), ()),
        ((KILL,), ((),), ()),
    ],
)
def test_a_right_is_lacking_where_no_way_is_open(
    denied: tuple[Right, ...], ways: tuple[tuple[Right, ...], ...], missing: tuple[Right, ...]
) -> None:
    assert lacking(ways, lambda one: Permission.DENIED if one in denied else Permission.UNKNOWN) == missing
