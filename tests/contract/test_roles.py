"""The roles that are shipped: what they grant is what sessions ask for, no more and no less."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from cockpit.actions.planning import Planning
from cockpit.actions.verbs.registry import VERBS
from cockpit.kube.access_reviews import AccessReviews
from cockpit.kube.discovery import Served, discover
from cockpit.model.batch import Batch
from cockpit.model.record import Kind, Record
from cockpit.sim.faults.exchange import SeenRequest
from tests.adapters.faults.proxy import FaultProxy
from tests.bed.api import Api
from tests.bed.rights import RBAC, binding, until_decided
from tests.contract.conftest import Connect, defined
from tests.contract.role_session import (
    FREE,
    Grant,
    do_everything,
    grants_of,
    kinds_to_define,
    put_owned_pods,
    read_everything,
    things_of,
)
from tests.contract.server import Server, write_kubeconfig
from tests.contract.verb_objects import KINDS, SPACES, everything, loose, remove_everything
from tests.reliability.figures import Tell

ROLES = Path(__file__).resolve().parents[2] / "deploy" / "roles"
NEVER = ("secrets", "pods/exec", "pods/attach", "pods/portforward", "proxy")
EVEN_NEVER = ("escalate", "bind", "impersonate", "*")


def tree_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROLES / f"{name}.yaml").read_text("utf-8"))
    return found


def granted(*names: str) -> frozenset[Grant]:
    return frozenset(
        (verb, group, resource)
        for name in names
        for rule in tree_of(name)["rules"]
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    )


# ---- the people


@pytest.fixture(scope="module")
def made(admin: Api) -> Iterator[Any]:
    with defined(admin, *map(loose, (*KINDS.values(), *kinds_to_define()))):
        things = everything(admin)
        put_owned_pods(admin, SPACES[0])
        yield things_of(admin, things)
    remove_everything(admin)


@pytest.fixture(scope="module")
def bound(server: Server, admin: Api) -> Iterator[None]:
    """`nobody` may what the viewer and metrics may, as long as these cases last."""
    for name in ("viewer", "metrics", "operator"):
        admin.create(f"{RBAC}/clusterroles", tree_of(name))
    _give(server, admin, "viewer", "metrics")
    yield
    for name in ("viewer", "metrics", "operator"):
        admin.request("DELETE", f"{RBAC}/clusterrolebindings/gpu-cockpit-{name}")
        admin.request("DELETE", f"{RBAC}/clusterroles/gpu-cockpit-{name}")


def _give(server: Server, admin: Api, *names: str) -> None:
    for name in names:
        tree = binding(f"gpu-cockpit-{name}", server.usernames["nobody"]) | {"kind": "ClusterRoleBinding"}
        tree["roleRef"] = {**tree["roleRef"], "kind": "ClusterRole"}
        admin.create(f"{RBAC}/clusterrolebindings", tree)
        rule = tree_of(name)["rules"][-1]
        resource, _, subresource = rule["resources"][-1].partition("/")
        group, verb = rule["apiGroups"][0], rule["verbs"][0]
        more = {"group": group, "resource": resource, "subresource": subresource}
        until_decided(admin, server.usernames["nobody"], verb=verb, **more)


def served_of(grants: frozenset[Grant], served: Served) -> frozenset[Grant]:
    """Those whose kind the server serves: nobody asks it for another."""
    return frozenset(one for one in grants if served.find(one[1], one[2].partition("/")[0]) is not None)


# ---- what is asked


def may_change(seen: SeenRequest) -> bool:
    """Whether it could change something: no read, no review of rights, no dry run."""
    is_review = seen.path.rpartition("/")[2] in FREE
    return seen.method not in ("GET", "HEAD") and not is_review and seen.query.get("dryRun") != "All"


@pytest.mark.row(34, "verbs asked for and not granted to a viewer", most=0)
@pytest.mark.row(34, "verbs granted to a viewer and not asked for", most=0)
@pytest.mark.row(57, "requests of a session on every page that could change something", most=0)
@pytest.mark.row(57, "requests of that session", least=100)
@pytest.mark.row(61, "requests for Secrets of that session", most=0)
async def test_a_session_that_reads_everything_asks_for_what_the_viewer_may(
    server: Server, made: Any, bound: None, proxy: FaultProxy, connect: Connect,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, figure: Tell,
) -> None:  # fmt: skip
    refused: list[str] = []
    monkeypatch.setattr(AccessReviews, "refused", lambda _self, path: refused.append(path))
    path = tmp_path / "kubeconfig-of-a-viewer"
    write_kubeconfig(path, proxy.url, {"token": server.tokens["nobody"]})
    await read_everything(path, SPACES[0])
    figure(
        "requests of a session on every page that could change something", sum(map(may_change, proxy.seen))
    )
    figure("requests of that session", len(proxy.seen))
    figure("requests for Secrets of that session", sum("/secrets" in seen.path for seen in proxy.seen))
    served = await discover(await connect())
    asked, may = grants_of(proxy), granted("viewer", "metrics")
    figure("verbs asked for and not granted to a viewer", len(asked - may) + len(refused))
    figure("verbs granted to a viewer and not asked for", len(served_of(may, served) - asked))
    assert refused == []
    assert sorted(asked - may) == [], "asked for, and not granted"
    assert sorted(served_of(may, served) - asked) == [], "granted, and asked for by no session"


@pytest.mark.row(34, "verbs asked for and not granted to an operator", most=0)
@pytest.mark.row(34, "verbs granted to an operator and not asked for", most=0)
async def test_a_session_that_does_everything_asks_for_what_the_operator_may(
    server: Server, admin: Api, made: Any, bound: None, proxy: FaultProxy, connect: Connect, figure: Tell
) -> None:
    _give(server, admin, "operator")
    things, store = made
    spaces = tuple(Record(uid=one, name=one) for one in SPACES)
    store.apply(Batch(kind=Kind.NAMESPACE, changed=spaces))
    session = await connect("nobody", write=True, through=proxy)
    refused: list[str] = []
    session.forbidden = refused.append
    served = await discover(session)
    await session.version(10.0)
    rows = {one.key: one for one in things["job"]}

    def lookup(api_version: str, kind: str) -> Any:
        group, _, version = api_version.rpartition("/")
        return served.find(group, kind, version) or served.find(group, kind)

    planning = Planning(store, session, lookup, "prod", rows, server_version=session.server_version)
    proxy.seen.clear()
    named = await do_everything(session, things, planning)
    asked = grants_of(proxy).union(*named.values())
    may, sees = granted("operator"), granted("viewer", "metrics")
    figure("verbs asked for and not granted to an operator", len(asked - may - sees) + len(refused))
    figure("verbs granted to an operator and not asked for", len(served_of(may, served) - asked))
    assert sorted(asked - may - sees) == [], "asked for, and not granted"
    assert sorted(served_of(may, served) - asked) == [], "granted, and asked for by no session"
    assert sorted(may & sees) == [], "granted by both"
    assert refused == []
    assert key_table(named) in (ROLES / "README.md").read_text("utf-8"), key_table(named)


def key_table(named: Mapping[str, frozenset[Grant]]) -> str:
    """A line for each verb: its key, its command, and the rules of the operator that it needs."""
    may = granted("operator")
    lines = ["| key | command | rules of the operator |", "| --- | --- | --- |"]
    for verb in VERBS:
        by_kind: dict[str, list[str]] = {}
        for word, group, resource in sorted(named.get(verb.id, frozenset()) & may, key=lambda one: one[1:]):
            by_kind.setdefault(f"{resource}.{group}" if group else resource, []).append(word)
        rules = "; ".join(f"{', '.join(sorted(words))} {kind}" for kind, words in by_kind.items())
        key = f"`{verb.key}`" if verb.key else "-"
        lines.append(f"| {key} | `cockpit {verb.noun or verb.kind} {verb.name}` | {rules or 'none'} |")
    return "\n".join(lines)


# ---- what is granted


@pytest.mark.parametrize("name", ["viewer", "operator", "metrics"])
def test_no_role_reads_secrets_or_gives_rights(name: str) -> None:
    for verb, group, resource in granted(name):
        assert verb not in EVEN_NEVER and resource != "*" and group != "*"
        assert resource.partition("/")[0] not in ("secrets", "roles", "clusterroles", "rolebindings")


@pytest.mark.row(34, "rights of a viewer to secrets, into a pod or to more rights", most=0)
def test_the_viewer_has_no_way_into_a_pod_and_changes_nothing(figure: Tell) -> None:
    verbs = {verb for verb, _, _ in granted("viewer")}
    resources = {resource for _, _, resource in granted("viewer")}
    assert verbs == {"get", "list", "watch"}
    bad = [one for one in resources if one in NEVER or one.endswith("/proxy")]
    bad += [verb for verb in verbs if verb in EVEN_NEVER]
    figure("rights of a viewer to secrets, into a pod or to more rights", len(bad))
    proxied = {one for one in granted("metrics") if one[2].endswith("/proxy")}
    assert proxied == {("get", "", "pods/proxy"), ("get", "", "services/proxy")}, "documented in README.md"
