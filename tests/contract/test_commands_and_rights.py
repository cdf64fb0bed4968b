"""Commands and rights: each verb's command, as four roles that the administrator acts as by a kubeconfig with
`as`, is accepted or refused exactly as `kubectl auth can-i --as` says of the rights that the verb needs.

The same verbs by key: `test_keys_and_rights`, of which the objects, the people and the questions are.
"""

import asyncio
import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cockpit.actions.form_rights import rights_to_test
from cockpit.actions.verbs.registry import VERBS, verb_of
from cockpit.cli import main
from cockpit.model.job import JobState
from cockpit.model.right import Right
from tests.bed.api import Api
from tests.contract.server import Server
from tests.contract.test_keys_and_rights import PEOPLE, There, acting, can_i, kinds, made, there  # noqa: F401
from tests.contract.verb_objects import KINDS, SPACES, put, row

COMMANDS = {
    "job.submit": "job submit mpijob -n {space} --name k-new --image registry.test/train:1",
    "job.kill": "job kill mpijob/{space}/k-mpi-on",
    "job.suspend": "job suspend mpijob/{space}/k-mpi-on",
    "job.resume": "job resume mpijob/{space}/k-mpi-off",
    "job.clone": "job clone job/{space}/k-run",
    "job.retry": "job retry mpijob/{space}/k-over",
    "job.recreate": "job recreate mpijob/{space}/k-mpi-on",
    "job.edit": 'job edit mpijob/{space}/k-mpi-on --patch [{{"op":"add","path":"/metadata/labels","value":'
    '{{"a":"b"}}}}]',
    "job.scale": "job scale mpijob/{space}/k-mpi-on --to 5",
    "job.prioritise": "job prioritise job/{space}/k-queued --priority high",
    "job.prune": "job prune mpijob/{space}/k-over --older-than 1h",
    "pool.scale": "pool scale k-pool-{space} --to 7",
    "pool.ask": "pool ask k-demand --nodes 2",
    "pool.limit": "pool limit k-demand --max 7",
    "queue.stop": "queue stop localqueue/{space}/k-main",
    "queue.resume": "queue resume localqueue/{space}/k-halted",
    "node.cordon": "node cordon k-node",
    "node.uncordon": "node uncordon k-cordoned",
    "node.drain": "node drain k-node --force --delete-emptydir-data",
    "node.stop-drain": "node stop-drain k-drained",
    "node.keep": "node keep k-node",
    "node.smoke-test": "node smoke-test k-node -n {space}",
}
WITHOUT = {
    "job.exec": "a stream has no dry run: test_keys_and_rights opens it",
    "job.tensorboard": "a stream has no dry run: test_keys_and_rights opens it",
    "pod.forward": "a stream has no dry run: test_keys_and_rights opens it",
    "job.record": "it reads logs, which nobody writes here",
    "job.reclaim": "it takes telemetry by which a job is idle: tests/tui/test_reclaiming_a_job.py",
    "pool.reclaim": "it takes telemetry by which a node is idle: tests/tui/test_reclaiming_a_pool.py",
}
OVER = {"conditions": [{"type": "Failed", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"}],
        "completionTime": "2020-01-01T00:00:00Z"}  # fmt: skip


@pytest.fixture(scope="module")
def over(admin: Api, made: Any) -> Iterator[list[Any]]:  # noqa: F811
    """A job of each namespace that failed long ago."""
    found = []
    for space in SPACES:
        roles = {
            role: {"replicas": 2, "template": {"spec": {"containers": []}}} for role in ("Launcher", "Worker")
        }
        tree = put(admin, KINDS["mpijobs"], "k-over", space, {"mpiReplicaSpecs": roles})
        path = KINDS["mpijobs"].path(space, "k-over")
        admin.request("PUT", f"{path}/status", {**tree, "status": OVER})
        found.append(row(admin.get(path), JobState.FAILED))
    yield found
    for space in SPACES:
        admin.request("DELETE", KINDS["mpijobs"].path(space, "k-over"))


def test_every_verb_has_a_command_or_a_reason() -> None:
    assert set(COMMANDS) | set(WITHOUT) == {verb.id for verb in VERBS}


def needed(there: There, over: list[Any], verb_id: str, command: str, space: str) -> tuple[Right, ...]:  # noqa: F811
    """The rights that the verb needs on the thing which the command names."""
    if verb_id == "node.smoke-test":
        return tuple(rights_to_test(space))
    if verb_id == "job.submit":
        return (Right("create", "kubeflow.org", "mpijobs", namespace=space),)
    name = command.split()[2].rsplit("/", 1)[-1]
    verb = verb_of(verb_id)
    things = (one for one in (*there.things[verb.kind], *over) if one.name == name)
    thing = next(one for one in things if getattr(one, "namespace", "") in ("", space) or verb.kind == "pool")
    return tuple(verb.planner.needs(there.planning, thing))


@pytest.mark.parametrize("verb_id", COMMANDS)
@pytest.mark.parametrize("who", PEOPLE)
async def test_a_command_is_refused_exactly_where_can_i_says_no(
    server: Server,
    there: There,  # noqa: F811
    over: list[Any],
    acting: Any,  # noqa: F811
    who: str,
    verb_id: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("STATE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    await acting(who)
    path = server.kubeconfig if who == "admin" else tmp_path / who
    context = ["--context", server.contexts["admin"]] if who == "admin" else []
    is_local = "engineer" in who and "{space}" in COMMANDS[verb_id]
    spaces = SPACES if is_local else SPACES[:1]
    for space in spaces:
        command = COMMANDS[verb_id].format(space=space)
        needs = needed(there, over, verb_id, command, space)
        is_allowed = all([await asyncio.to_thread(can_i, server, who, right) for right in needs])
        out, err = io.StringIO(), io.StringIO()
        words = [*command.split(), "--kubeconfig", str(path), *context, "--write", "--dry-run"]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = await asyncio.to_thread(main, words)
        said = out.getvalue() + err.getvalue()
        assert (code == 0) is is_allowed, (who, command, code, said[-1500:])
        assert ("would accept it" in said) is is_allowed, (who, command, said[-1500:])
        if not is_allowed:
            assert code == 1 and "cannot" in said, (who, command, code, said[-1500:])
