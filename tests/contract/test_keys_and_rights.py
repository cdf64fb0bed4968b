"""Keys and rights: every key that is free works, every one that is crossed out would have been refused.

Each verb on each kind that it takes, in the engineer's namespace and in another one, as an administrator and
as four roles that the administrator acts as by a kubeconfig with `as`, those of the bed and of the embedded
cluster: what the reviews say of its rights, what `kubectl auth can-i --as` says of them, and the dry run of
its plan.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
import pytest

from cockpit.actions import reclaim_job
from cockpit.actions.clone_retry import clone_form, plan_of_clone
from cockpit.actions.drain.plan import DrainOptions
from cockpit.actions.execute.dry_run import rehearse
from cockpit.actions.execute.execute_plan import real_perform
from cockpit.actions.execute.replan import TRIES
from cockpit.actions.form_rights import rights_to_test
from cockpit.actions.job_size import WorkersOptions
from cockpit.actions.planning import Planning
from cockpit.actions.prioritise import PriorityOptions
from cockpit.actions.submit import plan_submit
from cockpit.actions.verbs.registry import VERBS, verb_of
from cockpit.actions.verbs.verb import Verb
from cockpit.clock import SystemClock
from cockpit.errors import CockpitError
from cockpit.jobs.template import load_library
from cockpit.kube.access_reviews import AccessReviews
from cockpit.kube.resource import ACCESS_REVIEWS
from cockpit.kube.session import ApiSession, SessionOptions, open_session
from cockpit.model.batch import Batch
from cockpit.model.job import JobState
from cockpit.model.record import Kind, Record
from cockpit.model.right import Permission, Right, lacking
from cockpit.pools.index import pools_of
from cockpit.sim.server.rbac.bootstrap import bootstrap_objects
from cockpit.store.store import Store
from tests.bed.api import Api
from tests.bed.people import PEOPLE as BED
from tests.contract import shapes
from tests.contract.conftest import Connect, defined
from tests.contract.mirror import in_time
from tests.contract.server import Server, write_kubeconfig
from tests.contract.verb_objects import (
    BUILT_IN,
    KINDS,
    SPACES,
    TABLES,
    everything,
    loose,
    remove_everything,
    served,
)

RBAC = "/apis/rbac.authorization.k8s.io/v1"
PEOPLE = ("viewer", "engineer", "admin", "demo viewer", "demo engineer")
GROUPS = {"demo viewer": "cockpit:viewers", "demo engineer": "cockpit:engineers"}
"""Who of the embedded cluster is met under which group; on a real server as a user of that group."""
OPTIONS = {
    "job.scale": WorkersOptions(to=5),
    "job.prioritise": PriorityOptions(priority="high"),
    "job.edit": verb_of("job.edit").planner.options(
        '[{"op":"add","path":"/metadata/annotations","value":{"note":"x"}}]'
    ),
    "job.prune": verb_of("job.prune").planner.options("1h"),
    "pool.scale": verb_of("pool.scale").planner.options("7"),
    "node.drain": DrainOptions(force=True, delete_emptydir_data=True),
    "pool.limit": verb_of("pool.limit").planner.options("7"),
    "pool.ask": verb_of("pool.ask").planner.options("2"),
    "pool.reclaim": verb_of("pool.reclaim").planner.options("", "1", True),
}
STREAMS = {"job.exec": "exec", "job.tensorboard": "portforward", "pod.forward": "portforward"}
ELSEWHERE = {"node.smoke-test", "job.submit", "job.record"}
"""A command, a form whose kind and namespace are said in it, and what is read from logs that nobody writes
here (tests/unit/cli/test_efficiency.py)."""


def identity(server: Server, who: str) -> tuple[str, tuple[str, ...]]:
    """The user and the groups that the administrator acts as to be this person."""
    if who in GROUPS:
        return "somebody", (GROUPS[who],)
    user = server.usernames[who]
    return user, next(one.groups for one in BED if one.user == user)


def impersonating(server: Server, who: str) -> list[tuple[str, str]]:
    """The same as headers, as `kubectl --as` sends them."""
    user, groups = identity(server, who)
    return [("Impersonate-User", user), *(("Impersonate-Group", group) for group in groups)]


# ---- what is there


@dataclass(frozen=True)
class There:
    """The objects of the case, and what plans are made on."""

    things: dict[str, list[Any]]  # kind of the verbs -> records
    planning: Planning


@pytest.fixture(scope="module")
def kinds(admin: Api) -> Iterator[None]:
    """The kinds of engines and machine owners, as long as these cases last."""
    with defined(admin, *map(loose, KINDS.values())):
        for tree in bootstrap_objects(SPACES[:1]):
            if tree["metadata"]["name"].startswith("cockpit:"):
                space = tree["metadata"].get("namespace", "")
                base = f"{RBAC}/namespaces/{space}" if space else RBAC
                admin.request("POST", f"{base}/{tree['kind'].lower()}s", tree)
        yield
    remove_everything(admin)


@pytest.fixture(scope="module")
def made(admin: Api, kinds: None) -> tuple[dict[str, list[Any]], list[Record]]:
    return everything(admin)


@pytest.fixture
async def there(made: tuple[dict[str, list[Any]], list[Record]], connect: Connect) -> There:
    things, records = made
    store = Store()
    for kind, table in TABLES.items():
        store.apply(Batch(kind=table, changed=tuple(one for one in records if isinstance(one, kind))))
    session = await connect("admin")
    await session.version(10.0)
    assert session.server_version is not None
    rows = {one.key: one for one in things["job"]}
    planning = Planning(store, session, served, "prod", rows, server_version=session.server_version)
    return There({**things, "pool": [one for one in pools_of(store) if one.owner_kind]}, planning)


# ---- the people


@pytest.fixture
async def acting(server: Server, connect: Connect, kinds: None, tmp_path: Path) -> AsyncIterator[Any]:
    """`await acting("demo viewer")`: a session as that person; the administrator's own, or by a kubeconfig of
    the administrator that acts as the person."""
    opened: list[ApiSession] = []

    async def as_person(who: str) -> Any:
        if who == "admin":
            return await connect(who, write=True)
        user, groups = identity(server, who)
        entry = {"token": server.tokens["admin"], "as": user, "as-groups": list(groups)}
        path = write_kubeconfig(tmp_path / who, server.url, entry, ca=server.ca_file)
        options = SessionOptions(kubeconfig=path, read_only=False)
        session = await open_session(options, SystemClock())
        opened.append(session)
        if who not in GROUPS:
            return session

        async def knows_roles() -> bool:  # a real server puts the parts of a role together in a while
            right = Right("get", "kubeflow.org", "mpijobs", namespace=SPACES[0])
            return await verdict_of(session, right) is Permission.ALLOWED

        await in_time(knows_roles, f"the roles of {who}")
        return session

    yield as_person
    for session in opened:
        await session.close()


def can_i(server: Server, who: str, right: Right) -> bool:
    """What `kubectl auth can-i --as` asks, by another client than the one under test."""
    asked = {name: value for name, value in msgspec.structs.asdict(right).items() if value}
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": asked},
    }
    headers = impersonating(server, who) if who != "admin" else []
    reply = server.api("admin").request("POST", ACCESS_REVIEWS.path(), body, headers=headers)
    allowed: bool = reply.checked().json()["status"]["allowed"]
    return allowed


async def reviews_of(session: Any, rights: Any) -> AccessReviews:
    """What the server says of these rights."""
    reviews = AccessReviews(session, SystemClock().monotonic, lambda: None, sleep=_at_once)
    reviews.want(rights)
    await reviews.ask_wanted()
    return reviews


async def verdict_of(session: Any, right: Right) -> Permission:
    return (await reviews_of(session, [right])).verdict(right)


async def _at_once(_seconds: float) -> None:
    await asyncio.sleep(0)


# ---- the table


class Line(msgspec.Struct, frozen=True):
    """One verb on one thing, as one person: what the key shows and what the server said."""

    who: str
    verb: str
    thing: str
    missing: tuple[Right, ...]
    said: str

    def __str__(self) -> str:
        right = f"× {self.missing[0].words}" if self.missing else "free"
        return f"{self.who:14}  {self.verb:16}  {self.thing:34}  {right:58}  {self.said}"


TOLD: list[Line] = []
ASKED: dict[tuple[str, Right], bool] = {}
"""What can-i said of each right of each person."""


@pytest.fixture(scope="module", autouse=True)
def table() -> Iterator[None]:
    """Prints (pytest -s) what the cases of this process found: verbs by person, then every thing."""
    yield
    print()
    print(*summary(TOLD), sep="\n")
    for line in sorted(TOLD, key=lambda one: (one.verb, one.who, one.thing)):
        print(line)


def summary(told: list[Line]) -> list[str]:
    """A line for each verb: of how many things its key is free, and of how many it is crossed out.

    That the server does what a free key asks and refuses what is crossed out is asserted for each of them.
    """
    lines = [" | ".join(("verb", *PEOPLE)), " | ".join(["---"] * (len(PEOPLE) + 1))]
    for verb in dict.fromkeys(one.id for one in VERBS):
        cells = [verb]
        for who in PEOPLE:
            found = [bool(one.missing) for one in told if (one.verb, one.who) == (verb, who)]
            free, barred = found.count(False), found.count(True)
            cells.append(" ".join([f"{free} free"] * bool(free) + [f"{barred} ×"] * bool(barred)) or "-")
        lines.append(" | ".join(cells))
    return lines


def name_of(thing: Any) -> str:
    kind = getattr(thing, "kind", None) or type(thing).__name__
    return f"{kind} {getattr(thing, 'namespace', '')}/{thing.name}".replace(" /", " ")


async def plan_for(verb: Verb, planning: Planning, thing: Any) -> Any:
    if verb.id == "job.clone":
        return plan_of_clone(planning, thing, await clone_form(planning, thing), {})
    if verb.id == "job.reclaim":  # at which step it is matters here, not by what it is judged
        state = JobState.RUNNING if thing.state == JobState.FAILED else thing.state
        thing = msgspec.structs.replace(thing, state=state, gpus_allocated=1)
        with mock.patch.object(reclaim_job, "_is_idle", lambda _ground: True):
            return await verb.planner.plan(planning, thing, verb.planner.options())
    return await verb.planner.plan(planning, thing, OPTIONS.get(verb.id) or verb.planner.options())


def opened(server: Server, who: str, verb: Verb, thing: Any) -> int:
    """The HTTP status of an attempt to open the stream."""
    query = "command=true&stdout=true" if STREAMS[verb.id] == "exec" else "ports=80"
    path = f"/api/v1/namespaces/{thing.namespace}/pods/k-pod/{STREAMS[verb.id]}?{query}"
    headers = [
        ("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ("Sec-WebSocket-Protocol", "v5.channel.k8s.io, v4.channel.k8s.io"),
    ]  # fmt: skip
    headers += impersonating(server, who) if who != "admin" else []
    return server.api("admin").request("GET", path, headers=headers).status


@pytest.mark.parametrize("verb", [one for one in VERBS if one.id not in ELSEWHERE], ids=lambda one: one.id)
@pytest.mark.parametrize("who", PEOPLE)
async def test_a_free_key_works_and_a_crossed_out_one_would_be_refused(
    server: Server, there: There, acting: Any, who: str, verb: Verb
) -> None:
    session = await acting(who)
    lines: list[Line] = []
    for thing in there.things[verb.kind]:
        if verb.id in STREAMS:
            status = await asyncio.to_thread(opened, server, who, verb, thing)
            state, is_refused = f"HTTP {status}", status == 403
        else:
            try:
                plan = await plan_for(verb, there.planning, thing)
            except CockpitError:
                continue  # it cannot be done to this one, whoever asks
            outcome = await rehearse(plan, session, perform=real_perform())
            for _ in range(TRIES):  # a controller wrote to it since: it is planned anew, as by a key
                if not outcome.is_moved:
                    break
                planning = replace(there.planning, session=session, reads=True)
                outcome = await rehearse(
                    await plan_for(verb, planning, thing), session, perform=real_perform()
                )
            state, refusal = f"{outcome.state}: {outcome.sentence}", outcome.refusal
            is_refused = refusal is not None and refusal.status == 403
            assert is_refused or outcome.state == "done", state
        needs = tuple(verb.planner.needs(there.planning, thing))
        reviews = await reviews_of(session, needs)
        line = Line(who, verb.id, name_of(thing), lacking((needs,), reviews.verdict), state)
        assert Permission.UNKNOWN not in map(reviews.verdict, needs), line
        for right in needs:
            if (who, right) not in ASKED:
                ASKED[who, right] = await asyncio.to_thread(can_i, server, who, right)
            assert (reviews.verdict(right) is Permission.ALLOWED) is ASKED[who, right], (right.words, line)
        assert bool(line.missing) is is_refused, line
        lines.append(line)
    assert lines, "nothing is there that this verb could be done to"
    if who == "viewer":
        assert all(one.missing for one in lines)
    if who == "admin":
        assert not any(one.missing for one in lines)
    TOLD.extend(lines)


@pytest.mark.parametrize("who", PEOPLE)
async def test_a_new_job_may_be_made_where_one_of_its_ways_is_open(
    there: There, acting: Any, admin: Api, who: str
) -> None:
    store = Store()
    store.apply(Batch(kind=Kind.NAMESPACE, changed=tuple(Record(uid=one, name=one) for one in SPACES)))
    session = await acting(who)
    ways = verb_of("job.submit").planner.ways(replace(there.planning, store=store), ())
    reviews = await reviews_of(session, [right for way in ways for right in way])
    answers = {}
    for space in SPACES:
        path = BUILT_IN["jobs"].path(space)
        dry = (("dryRun", "All"),)
        answer = await session.request("POST", path, query=dry, body=shapes.job("k-new"))
        answers[space] = answer.status
        here = Right("create", "batch", "jobs", namespace=space)
        assert (reviews.verdict(here) is Permission.DENIED) is (answer.status == 403), (who, space)
    missing = lacking(ways, reviews.verdict)
    assert bool(missing) is (set(answers.values()) == {403}), (who, answers)
    TOLD.append(Line(who, "job.submit", "any namespace", missing, str(answers)))


@pytest.mark.parametrize("who", PEOPLE)
async def test_a_smoke_test_is_refused_before_it_begins_where_a_step_of_it_would_be(
    there: There, acting: Any, who: str
) -> None:
    session = await acting(who)
    template = load_library().named("smoke-test")
    for space in SPACES:
        values = {"name": "k-smoke", "node": "k-node", "namespace": space}
        plan = plan_submit(template, values, space, lookup=served)
        job, pod = BUILT_IN["jobs"].path(space, "k-run"), BUILT_IN["pods"].path(space, "k-pod")
        dry = {"query": (("dryRun", "All"),)}
        steps: dict[str, tuple[str, str, Mapping[str, Any]]] = {
            "create jobs.batch": ("POST", plan.calls[0].path, {**dry, "body": plan.calls[0].body}),
            "get jobs.batch": ("GET", job, {}),
            "delete jobs.batch": ("DELETE", job, dry),
            "list pods": ("GET", BUILT_IN["pods"].path(space), {}),
            "get pods/log": ("GET", f"{pod}/log", {}),
        }
        needs = rights_to_test(space)
        assert {f"{one.verb} {one.label}" for one in needs} == set(steps)
        reviews = await reviews_of(session, needs)
        answers: dict[str, int] = {}
        for right in needs:
            name = f"{right.verb} {right.label}"
            method, path, more = steps[name]
            answers[name] = (await session.request(method, path, **more)).status
            assert (reviews.verdict(right) is Permission.DENIED) is (answers[name] == 403), (who, name)
        missing = lacking((needs,), reviews.verdict)
        TOLD.append(Line(who, "node.smoke-test", f"node k-node in {space}", missing, str(answers)))
