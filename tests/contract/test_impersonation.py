"""Acting as somebody else: asked for by headers, allowed by rights, and never ignored."""

import asyncio
import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest

from cockpit.actions.execute.execute_plan import carry_out
from cockpit.actions.kill import plan_take_away
from cockpit.cli import main
from cockpit.clock import SystemClock
from cockpit.kube.session import SessionOptions, open_session
from cockpit.local_state.audit import Audit
from tests.bed.api import Api
from tests.bed.people import PEOPLE
from tests.bed.rights import until_decided
from tests.contract import shapes
from tests.contract.asking import in_space, maps_in
from tests.contract.opening import WriteUser, opened, sentence_of
from tests.contract.server import Server
from tests.contract.shapes import configmap

RBAC = "/apis/rbac.authorization.k8s.io/v1"
SELF = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
Headers = list[tuple[str, str]]


def _who(api: Api, headers: Headers) -> dict[str, Any]:
    reply = api.request(
        "POST", SELF, {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}, headers=headers
    )
    found: dict[str, Any] = reply.checked().json()["status"]["userInfo"]
    return {**found, "groups": sorted(found["groups"])}


def test_what_a_user_may_not_do_an_administrator_does_not_do_as_them(space: str, admin: Api) -> None:
    admin.create(maps_in(space), configmap("kept"))
    path = in_space(space, "configmaps", "kept")
    reply = admin.request("DELETE", path, headers=[("Impersonate-User", "nobody")])
    assert reply.status == 403
    assert reply.json()["message"] == (
        'configmaps "kept" is forbidden: User "nobody" cannot delete resource "configmaps" in API group "" '
        f'in the namespace "{space}"'
    )
    assert admin.request("GET", path).status == 200


def test_a_user_without_groups_is_authenticated(admin: Api) -> None:
    told = _who(admin, [("Impersonate-User", "ada")])
    assert (told["username"], told["groups"]) == ("ada", ["system:authenticated"])


def test_groups_uid_and_extra_are_taken_as_they_are_named(admin: Api) -> None:
    told = _who(
        admin,
        [
            ("Impersonate-User", "ada"),
            ("Impersonate-Group", "one"),
            ("Impersonate-Group", "two"),
            ("Impersonate-Uid", "u-1"),
            ("Impersonate-Extra-Scopes", "view"),
            ("Impersonate-Extra-Example.org%2fteam", "llm"),
        ],
    )
    assert told == {
        "username": "ada",
        "uid": "u-1",
        "groups": ["one", "system:authenticated", "two"],
        "extra": {"scopes": ["view"], "example.org/team": ["llm"]},
    }


@pytest.mark.parametrize(
    ("user", "groups", "told"),
    [
        ("system:anonymous", ["system:masters"], ["system:masters", "system:unauthenticated"]),
        (
            "system:serviceaccount:team-a:runner",
            [],
            ["system:authenticated", "system:serviceaccounts", "system:serviceaccounts:team-a"],
        ),
        ("system:serviceaccount:team-a:runner", ["mine"], ["mine", "system:authenticated"]),
        (
            "ada",
            ["system:masters", "system:unauthenticated"],
            ["system:masters", "system:unauthenticated"],
        ),
    ],
)
def test_groups_that_the_server_adds(admin: Api, user: str, groups: list[str], told: list[str]) -> None:
    headers = [("Impersonate-User", user), *(("Impersonate-Group", one) for one in groups)]
    assert _who(admin, headers)["groups"] == told


def test_groups_of_one_who_may_do_anything_are_in_force(space: str, admin: Api) -> None:
    headers = [("Impersonate-User", "ada"), ("Impersonate-Group", "system:masters")]
    assert admin.request("GET", maps_in(space), headers=headers).status == 200


@pytest.mark.parametrize("header", ["Impersonate-Group", "Impersonate-Uid", "Impersonate-Extra-Scopes"])
def test_a_group_without_a_user_is_a_bad_request(admin: Api, header: str) -> None:
    reply = admin.request("GET", "/api/v1/namespaces", headers=[(header, "x")])
    assert (reply.status, reply.json()["reason"]) == (400, "BadRequest")
    assert "without impersonating a user" in reply.json()["message"]


@pytest.mark.parametrize(
    ("user", "mode"),
    [
        ("ada", "user-info"),
        ("system:serviceaccount:team-a:runner", "serviceaccount"),
        ("system:node:gpu-1", "arbitrary-node"),
    ],
)
def test_who_may_not_impersonate_is_refused(server: Server, user: str, mode: str) -> None:
    reply = server.api("viewer").request("GET", "/api/v1/namespaces", headers=[("Impersonate-User", user)])
    assert (reply.status, reply.json()["reason"]) == (403, "Forbidden")
    assert reply.json()["message"] == (
        f'namespaces is forbidden: User "{server.usernames["viewer"]}" cannot impersonate-on:{mode}:list '
        'resource "namespaces" in API group "" at the cluster scope'
    )


def test_the_right_is_to_one_user_and_to_each_group_of_its_own(
    server: Server, space: str, admin: Api
) -> None:
    rule = {"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"], "resourceNames": ["ada"]}
    metadata = {"name": f"as-ada-{space}"}
    admin.create(f"{RBAC}/clusterroles", {"metadata": metadata, "rules": [rule]})
    admin.create(
        f"{RBAC}/clusterrolebindings",
        {
            "metadata": metadata,
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": metadata["name"],
            },
            "subjects": [
                {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "User",
                    "name": server.usernames["nobody"],
                }
            ],
        },
    )
    nobody = server.api("nobody")
    try:
        until_decided(admin, server.usernames["nobody"], verb="impersonate", resource="users", name="ada")
        assert _who(nobody, [("Impersonate-User", "ada")])["username"] == "ada"
        for more in [("Impersonate-Group", "system:masters"), ("Impersonate-Uid", "u-1")]:
            reply = nobody.request("GET", maps_in(space), headers=[("Impersonate-User", "ada"), more])
            assert (reply.status, "cannot impersonate" in reply.json()["message"]) == (403, True)
        reply = nobody.request("GET", maps_in(space), headers=[("Impersonate-User", "eve")])
        assert (reply.status, "cannot impersonate" in reply.json()["message"]) == (403, True)
    finally:
        for plural in ("clusterrolebindings", "clusterroles"):
            admin.delete(f"{RBAC}/{plural}/{metadata['name']}")


# ---- a kubeconfig whose user acts as another


async def test_the_server_sees_whom_a_kubeconfig_acts_as(server: Server, as_user: WriteUser) -> None:
    user = {
        "token": server.tokens["admin"],
        "as": "ada",
        "as-uid": "u-1",
        "as-groups": ["one", "two"],
        "as-user-extra": {"scopes": ["view", "list"], "example.org/team%": ["llm"]},
    }
    session = await opened(as_user(user))
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = await session.request("POST", SELF, body=body)
    await session.close()
    told = answer.json()["status"]["userInfo"]
    assert {**told, "groups": sorted(told["groups"])} == {
        "username": "ada",
        "uid": "u-1",
        "groups": ["one", "system:authenticated", "two"],
        "extra": {"scopes": ["view", "list"], "example.org/team%": ["llm"]},
    }


def _may_delete_jobs(admin: Api, space: str, user: str, groups: tuple[str, ...]) -> bool:
    """What `kubectl auth can-i delete jobs --as` asks."""
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {
            "resourceAttributes": {
                "namespace": space,
                "verb": "delete",
                "resource": "jobs",
                "group": "batch",
            }
        },
    }
    headers = [("Impersonate-User", user), *(("Impersonate-Group", group) for group in groups)]
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    reply = admin.request("POST", path, body, headers=headers)
    allowed: bool = reply.checked().json()["status"]["allowed"]
    return allowed


@pytest.mark.parametrize("role", ["viewer", "admin"])
async def test_a_kill_is_refused_by_key_and_command_as_can_i_says(
    server: Server,
    space: str,
    admin: Api,
    as_user: WriteUser,
    role: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    name = server.usernames[role]
    groups = next(one.groups for one in PEOPLE if one.user == name)
    path = as_user({"token": server.tokens["admin"], "as": name, "as-groups": list(groups)})
    is_allowed = _may_delete_jobs(admin, space, name, groups)
    assert is_allowed is (role == "admin")

    admin.create(f"/apis/batch/v1/namespaces/{space}/jobs", shapes.job("by-command"))
    out, err = io.StringIO(), io.StringIO()
    words = ["job", "kill", f"job/{space}/by-command", "--kubeconfig", path, "--write", "--yes"]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = await asyncio.to_thread(main, words)
    assert f"as {name}: user one of the kubeconfig acts as {name} (groups: {groups[0]})" in err.getvalue()
    there = admin.request("GET", f"/apis/batch/v1/namespaces/{space}/jobs/by-command")
    is_kept = there.status == 200 and "deletionTimestamp" not in there.json()["metadata"]
    assert (code == 0, is_kept) == (is_allowed, not is_allowed), out.getvalue() + err.getvalue()
    assert is_allowed or "delete jobs" in out.getvalue() + err.getvalue()


async def test_the_audit_line_names_who_is_behind_and_whom_it_acted_as(
    server: Server,
    space: str,
    admin: Api,
    as_user: WriteUser,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    path = as_user({"token": server.tokens["admin"], "as": "ada", "as-groups": ["system:masters"]})
    session = await open_session(SessionOptions(kubeconfig=path, read_only=False), SystemClock())
    made = admin.create(f"/apis/batch/v1/namespaces/{space}/jobs", shapes.job("one"))
    audit = Audit(tmp_path / "gpu-cockpit" / "audit.jsonl")
    plan = plan_take_away(made, f"/apis/batch/v1/namespaces/{space}/jobs/one")
    outcome = await carry_out(plan, session, audit, SystemClock())
    await session.close()
    assert outcome.state == "done", outcome.sentence
    assert {(one.user, one.acts_as) for one in audit.entries()} == {("one", "ada")}
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert await asyncio.to_thread(main, ["audit", "show"]) == 0
    assert "one as ada" in out.getvalue()
    with contextlib.redirect_stdout(out := io.StringIO()):
        assert await asyncio.to_thread(main, ["audit", "list", "-o", "json"]) == 0
    assert {line["acts_as"] for line in json.loads(out.getvalue())["items"]} == {"ada"}


async def test_who_may_not_act_as_another_is_told_before_anything_is_read(
    server: Server, as_user: WriteUser
) -> None:
    sentence = await sentence_of(as_user({"token": server.tokens["viewer"], "as": "ada"}))
    assert sentence.startswith("one may not act as ada (403): ")
    assert "remove `as` from user one" in sentence
