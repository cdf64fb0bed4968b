"""Row 19 and 49 of the reliability table: 30 % of all answers are faults, and no write is done twice.

A small API server in memory, asked through `kube.calls.perform`. A faulty write is refused before it is done,
done and its answer lost or replaced by a proxy's, sent twice by the proxy, or done a while after the proxy
gave up on it.
"""

import asyncio
import json
import random
from typing import Any

import pytest

from cockpit.actions.execute.execute_plan import carry_out
from cockpit.clock import ManualClock
from cockpit.errors import NoConnection
from cockpit.kube.answer import ApiAnswer
from cockpit.model.plan import Call, Outcome, Plan
from tests.reliability.figures import Tell, whole
from tests.unit.actions.builders import Lines

RUNS = whole(10_000, 1_700)
"""Of each kind of write."""
FAULTS = 0.3
HTML = b"<html>Bad Gateway</html>"
NAMES = "/api/v1/namespaces/team-a/pods"
MERGE = "application/merge-patch+json"
Tree = dict[str, Any]


def told(status: int, reason: str, message: str = "injected") -> ApiAnswer:
    """A Status; of a success without a reason."""
    tree = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status, "reason": reason}
    details = {"name": "p", "kind": "pods"} if status == 404 else {}
    more = {"message": message, "details": details}
    return ApiAnswer(status, "application/json", json.dumps(tree | more).encode())


class FaultServer:
    """Pods by name; `effects` counts what changed each of them, by the audit id or the value that it set."""

    context, server, user, read_only = "prod", "https://prod.example", "ann", False
    acts_as = None

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.objects: dict[str, Tree] = {}
        self.version = 0
        self.effects: list[str] = []
        self.writes = 0
        self.answers = self.faults = 0
        self.tries: list[int] = []
        """Of each read in turn: how many times it was sent until it was answered well, or given up."""
        self.last_read: tuple[str, str] | None = None
        self.late: list[tuple[str, str, Any]] = []

    def put(self, name: str, about: Tree | None = None, size: int = 2) -> Tree:
        self.version += 1
        about = {
            **(about or {}),
            "name": name,
            "uid": f"u{self.version}",
            "resourceVersion": str(self.version),
        }
        self.objects[name] = {"kind": "Pod", "metadata": about, "spec": {"size": size}}
        return self.objects[name]

    async def request(
        self, method: str, path: str, *, body: Any = None, query: Any = (), **_: Any
    ) -> ApiAnswer:
        self.answers += 1
        is_faulty = self.rng.random() < FAULTS
        self.faults += is_faulty
        if method == "GET":
            selector = dict(query).get("labelSelector", "")
            if self.last_read == (path, selector):
                self.tries[-1] += 1
            else:
                self.tries.append(1)
            self.last_read = (path, selector) if is_faulty else None
            return self._fault() if is_faulty else self._read(path, selector)
        self.writes += 1
        if not is_faulty:
            return self._write(method, path, body)
        kind = self.rng.choice(("before", "after", "twice", "late"))
        if kind == "before":
            return self._fault()
        if kind == "late":
            self.late.append((method, path, body))
            return ApiAnswer(504, "text/html", HTML)
        answer = self._write(method, path, body)
        return (
            self._write(method, path, body) if kind == "twice" else (self._fault() if answer.ok else answer)
        )

    def _fault(self) -> ApiAnswer:
        kind = self.rng.choice((500, 502, 503, 504, 429, 408, 200, "cut"))
        if kind == "cut":
            raise NoConnection("the connection was cut")
        if self.rng.random() < 0.5 and kind not in (429, 408, 200):
            return told(int(kind), "InternalError")
        return ApiAnswer(int(kind), "text/html", HTML)

    def _read(self, path: str, selector: str) -> ApiAnswer:
        if selector:
            key, _, value = selector.partition("=")
            items = [it for it in self.objects.values() if it["metadata"].get("labels", {}).get(key) == value]
            tree: Tree = {"kind": "PodList", "metadata": {}, "items": items}
            return ApiAnswer(200, "application/json", json.dumps(tree).encode())
        found = self.objects.get(path.removesuffix("/scale").removeprefix(f"{NAMES}/"))
        if found is None:
            return told(404, "NotFound")
        return ApiAnswer(200, "application/json", json.dumps(found).encode())

    def _write(self, method: str, path: str, body: Any) -> ApiAnswer:
        if method == "POST" and not path.endswith("/eviction"):
            about = body["metadata"]
            name = about.get("name") or f"{about['generateName']}{len(self.objects)}"
            if name in self.objects:
                return told(409, "AlreadyExists")
            self.effects.append(name)
            return self._said(self.put(name, about), 201)
        name = path.removesuffix("/scale").removesuffix("/eviction").removeprefix(f"{NAMES}/")
        found = self.objects.get(name)
        if found is None:
            return told(404, "NotFound")
        guard = (body.get("deleteOptions") or body).get("preconditions") or body["metadata"]
        if guard["uid"] != found["metadata"]["uid"]:
            return told(409, "Conflict")
        if (
            guard.get("resourceVersion", found["metadata"]["resourceVersion"])
            != found["metadata"]["resourceVersion"]
        ):
            return told(409, "Conflict")
        self.effects.append(name)
        if method == "PATCH":
            return self._said(self.put(name, {}, body["spec"]["size"]), 200)
        del self.objects[name]
        return self._said({"kind": "Status", "status": "Success"}, 200)

    def _said(self, tree: Tree, status: int) -> ApiAnswer:
        return ApiAnswer(status, "application/json", json.dumps(tree).encode())

    def arrive(self) -> None:
        """What a proxy gave up on reaches the server."""
        for method, path, body in self.late:
            self._write(method, path, body)
        self.late.clear()


def calls_of(kind: str, it: Tree) -> Call:
    guard = {key: it["metadata"][key] for key in ("uid", "resourceVersion")}
    path = f"{NAMES}/{it['metadata']['name']}"
    made: dict[str, tuple[str, str, Any]] = {
        "create": ("POST", NAMES, {"metadata": {"name": "new"}}),
        "generate": ("POST", NAMES, {"metadata": {"generateName": "new-"}}),
        "patch": ("PATCH", path, {"metadata": guard, "spec": {"size": 4}}),
        "scale": ("PATCH", f"{path}/scale", {"metadata": guard, "spec": {"size": 4}}),
        "delete": ("DELETE", path, {"preconditions": guard}),
        "evict": (
            "POST",
            f"{path}/eviction",
            {"metadata": {"name": "p"}, "deleteOptions": {"preconditions": {"uid": guard["uid"]}}},
        ),
    }
    method, path, body = made[kind]
    return Call(method=method, path=path, body=body, target=f"pod team-a/{kind}", content_type=MERGE)


async def no_pause(_seconds: float) -> None:
    """Time that passes at once."""


async def carry(server: FaultServer, call: Call, lines: Lines, number: int) -> Outcome:
    plan = Plan(verb="try", title="Try it", done="Tried it", calls=(call,))
    return await carry_out(plan, server, lines, ManualClock(), new_id=lambda: f"id{number}", sleep=no_pause)


@pytest.mark.row(19, "writes of a kind", least=10_000, unit="cases")
@pytest.mark.row(19, "share of faults", least=0.28, most=0.32)
@pytest.mark.row(19, "double writes", most=0)
@pytest.mark.row(19, "tries of a read", most=3)
@pytest.mark.parametrize("kind", ["create", "generate", "patch", "scale", "delete", "evict"])
async def test_no_write_is_done_twice_and_none_is_told_wrongly(kind: str, figure: Tell) -> None:
    rng = random.Random(f"writes/{kind}")
    ends: dict[tuple[str, int], int] = {}
    answers = faults = doubles = most_tries = 0
    for number in range(RUNS):
        server, lines = FaultServer(rng), Lines()
        call = calls_of(kind, server.put("p"))
        outcome = await carry(server, call, lines, number)
        done_by_then = len(server.effects)
        server.arrive()
        effects = len(server.effects)
        is_generated_twice = (
            kind == "generate" and effects == 2
        )  # the proxy's doing, which no client can keep off
        doubles += server.writes > 1 or (effects > 1 and not is_generated_twice)
        answers, faults = answers + server.answers, faults + server.faults
        most_tries = max(most_tries, *server.tries, 0)
        if outcome.state == "done":
            assert done_by_then >= 1
        elif outcome.state == "unchanged":
            assert kind in ("delete", "evict") and "p" not in server.objects
        elif outcome.state in ("refused", "failed"):
            is_replayed = kind in ("patch", "scale") and outcome.is_moved
            assert effects == 0 or is_replayed, (
                outcome
            )  # 409 after the proxy sent it twice: planned anew on a read
        else:
            assert outcome.state == "unknown"
            assert "unknown: the server did not say" in outcome.sentence
            assert "read it before trying again" in outcome.sentence
        assert [it.state for it in lines.entries] == ["", outcome.state]
        key = (outcome.state, effects)
        ends[key] = ends.get(key, 0) + 1
    seen = {state for state, _ in ends}
    assert {"done", "unknown", "failed"} <= seen, ends  # each end was met
    figure("writes of a kind", RUNS)
    figure("share of faults", faults / answers)
    figure("double writes", doubles)
    figure("tries of a read", most_tries)


class ForgetfulServer(FaultServer):
    """Does every write, and drops every other answer; requests of two clients come in any order."""

    async def request(self, method: str, path: str, **more: Any) -> ApiAnswer:
        for _ in range(self.rng.randrange(4)):
            await asyncio.sleep(0)
        if method == "GET":
            return self._read(path, dict(more.get("query", ())).get("labelSelector", ""))
        self.writes += 1
        answer = self._write(method, path, more.get("body"))
        if self.rng.random() < 0.5:
            raise NoConnection("the answer was lost")
        return answer


@pytest.mark.row(49, "submits, Enter pressed twice", least=10_000, unit="cases")
@pytest.mark.row(49, "submits that did not end in exactly one object", most=0)
@pytest.mark.row(49, "submits of which not exactly one was told as done", most=0)
async def test_enter_twice_and_answers_that_are_lost_make_one_object(figure: Tell) -> None:
    rng = random.Random(49)
    not_one = not_told = 0
    for number in range(RUNS):
        server, lines = ForgetfulServer(rng), Lines()
        call = calls_of("create", server.put("p"))
        told = await asyncio.gather(*(carry(server, call, lines, 2 * number + at) for at in range(2)))
        not_one += server.effects != ["new"] or server.objects.keys() != {"p", "new"}
        not_told += sorted(it.state for it in told) not in (["done", "refused"], ["done", "failed"])
    figure("submits, Enter pressed twice", RUNS)
    figure("submits that did not end in exactly one object", not_one)
    figure("submits of which not exactly one was told as done", not_told)
