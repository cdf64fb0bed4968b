"""Properties: the index decides as a walk over all objects, and a further rule never takes a right away."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from cockpit.kube.resource import Resource
from cockpit.sim.port import Tree
from cockpit.sim.resources import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES
from cockpit.sim.server.rbac.attributes import Attributes
from cockpit.sim.server.rbac.authoriser import Authoriser
from cockpit.sim.server.request import User

NAMES = st.sampled_from(["a", "b", "c"])
SPACES = st.sampled_from(["", "x", "y"])
VERBS = st.sampled_from(["get", "list", "*"])
GROUPS = st.sampled_from(["", "apps", "*"])
RESOURCES = st.sampled_from(["pods", "pods/log", "jobs", "jobs/scale", "*", "*/scale", "*/log"])
URLS = st.sampled_from(["/a", "/a/*", "/a/b", "*"])


def few(strategy: st.SearchStrategy[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(strategy, max_size=3)


RULES = st.one_of(
    st.fixed_dictionaries(
        {
            "verbs": few(VERBS),
            "apiGroups": few(GROUPS),
            "resources": few(RESOURCES),
            "resourceNames": few(NAMES),
        }
    ),
    st.fixed_dictionaries({"verbs": few(VERBS), "nonResourceURLs": few(URLS)}),
)
SUBJECTS = st.one_of(
    st.fixed_dictionaries({"kind": st.sampled_from(["User", "Group"]), "name": NAMES}),
    st.fixed_dictionaries({"kind": st.just("ServiceAccount"), "name": NAMES, "namespace": SPACES}),
)
Estate = tuple[list[Tree], list[Tree]]


@st.composite
def estates(draw: st.DrawFn) -> Estate:
    """Roles and bindings, names unique as in a storage."""
    roles, bindings = {}, {}
    for _ in range(draw(st.integers(0, 4))):
        name, space = draw(NAMES), draw(SPACES)
        roles[name, space] = {
            "metadata": {"name": name, **({"namespace": space} if space else {})},
            "rules": draw(st.lists(RULES, max_size=3)),
        }
    for _ in range(draw(st.integers(0, 4))):
        name, space = draw(NAMES), draw(SPACES)
        kind = draw(st.sampled_from(["Role", "ClusterRole"])) if space else "ClusterRole"
        bindings[name, space] = {
            "metadata": {"name": name, **({"namespace": space} if space else {})},
            "subjects": draw(st.lists(SUBJECTS, max_size=3)),
            "roleRef": {"kind": kind, "name": draw(NAMES)},
        }
    return list(roles.values()), list(bindings.values())


USERS = st.one_of(
    st.builds(lambda name, groups: User(name, tuple(groups)), NAMES, st.lists(NAMES, max_size=2)),
    st.builds(
        lambda space, name: User(f"system:serviceaccount:{space}:{name}"), st.sampled_from("xy"), NAMES
    ),
)
ASKED = st.one_of(
    st.builds(
        Attributes,
        st.sampled_from(["get", "list"]),
        st.sampled_from(["", "apps"]),
        st.sampled_from(["pods", "jobs"]),
        st.sampled_from(["", "log", "scale"]),
        SPACES,
        st.sampled_from(["", "a", "b"]),
    ),
    st.builds(lambda verb, path: Attributes(verb, path=path), VERBS, st.sampled_from(["/a", "/a/b", "/c"])),
)


def authoriser_over(estate: Estate) -> Authoriser:
    roles, bindings = estate

    def source(resource: Resource) -> Iterable[Tree]:
        trees = roles if resource in (ROLES, CLUSTER_ROLES) else bindings
        namespaced = resource in (ROLES, ROLE_BINDINGS)
        assert resource in (ROLES, CLUSTER_ROLES, ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS)
        return [tree for tree in trees if ("namespace" in tree["metadata"]) == namespaced]

    return Authoriser(source)


def allows(rule: Tree, asked: Attributes) -> bool:
    if not {"*", asked.verb} & set(rule["verbs"]):
        return False
    if asked.path:
        return any(
            url == asked.path or (url.endswith("*") and asked.path.startswith(url[:-1]))
            for url in rule.get("nonResourceURLs", [])
        )
    combined = asked.resource + (f"/{asked.subresource}" if asked.subresource else "")
    fits = {"*", combined} | ({f"*/{asked.subresource}"} if asked.subresource else set())
    names = rule.get("resourceNames", [])
    return bool(
        {"*", asked.group} & set(rule.get("apiGroups", []))
        and fits & set(rule.get("resources", []))
        and (not names or asked.name in names)
    )


def naive(estate: Estate, user: User, asked: Attributes) -> bool:
    """Every binding, every subject, every rule; nothing remembered."""
    roles, bindings = estate
    for one in bindings:
        space = one["metadata"].get("namespace", "")
        if space and space != asked.namespace:
            continue
        if not any(is_meant(subject, user, space) for subject in one["subjects"]):
            continue
        home = space if one["roleRef"]["kind"] == "Role" else ""
        for role in roles:
            at = (role["metadata"]["name"], role["metadata"].get("namespace", ""))
            if at == (one["roleRef"]["name"], home) and any(allows(rule, asked) for rule in role["rules"]):
                return True
    return False


def is_meant(subject: Tree, user: User, space: str) -> bool:
    if subject["kind"] == "User":
        return bool(subject["name"] == user.name)
    if subject["kind"] == "Group":
        return subject["name"] in user.groups
    home = subject["namespace"] or space
    return bool(home) and user.name == f"system:serviceaccount:{home}:{subject['name']}"


@given(estates(), USERS, st.lists(ASKED, min_size=1, max_size=4))
def test_the_index_decides_as_a_walk_over_everything(
    estate: Estate, user: User, asked: list[Attributes]
) -> None:
    authoriser = authoriser_over(estate)
    for one in asked:
        assert authoriser.decide(user, one).allowed == naive(estate, user, one)


@given(estates(), USERS, ASKED, RULES, st.data())
def test_a_further_rule_never_takes_a_right_away(
    estate: Estate, user: User, asked: Attributes, rule: Tree, data: st.DataObject
) -> None:
    roles, bindings = estate
    if not roles:
        return
    place = data.draw(st.integers(0, len(roles) - 1))
    more = [{**role, "rules": [rule, *role["rules"]]} if n == place else role for n, role in enumerate(roles)]
    if authoriser_over(estate).decide(user, asked).allowed:
        assert authoriser_over((more, bindings)).decide(user, asked).allowed
