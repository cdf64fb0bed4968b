"""A right in words that kubectl understands; which rights decide whether a key is free."""

import pytest

from cockpit.model.right import Permission, Right, cannot, lacking, worth_asking

EXEC = Right("create", "", "pods", "exec", "team-a", "llm-0")
KILL = Right("delete", "batch", "jobs", namespace="team-a")
CORDON = Right("patch", "", "nodes", name="gpu-1")
SCALE = Right("patch", "cluster.x-k8s.io", "machinedeployments", "scale", "pools")


@pytest.mark.parametrize(
    ("right", "words"),
    [
        (EXEC, "create pods/exec in team-a"),
        (KILL, "delete jobs.batch in team-a"),
        (CORDON, "patch nodes"),
        (SCALE, "patch machinedeployments.cluster.x-k8s.io/scale in pools"),
    ],
)
def test_the_words_name_verb_resource_and_namespace(right: Right, words: str) -> None:
    assert right.words == words


@pytest.mark.parametrize(
    ("right", "line"),
    [
        (EXEC, "kubectl auth can-i create pods/llm-0 --subresource=exec -n team-a"),
        (KILL, "kubectl auth can-i delete jobs.batch -n team-a"),
        (CORDON, "kubectl auth can-i patch nodes/gpu-1"),
    ],
)
def test_the_question_is_a_command_of_kubectl(right: Right, line: str) -> None:
    assert right.question == line


def test_two_rights_are_one_where_all_of_them_is_the_same() -> None:
    elsewhere = Right("delete", "batch", "jobs", namespace="team-b")
    assert len({KILL, Right("delete", "batch", "jobs", namespace="team-a"), elsewhere}) == 2


# ---- ways

MAKE, TAKE, READ = (Right(verb, "batch", "jobs", namespace="team-a") for verb in ("create", "delete", "get"))
WAYS = ((MAKE, READ), (TAKE,))


def test_of_a_way_that_is_open_only_its_own_rights_are_asked_again() -> None:
    known = {READ: Permission.ALLOWED, TAKE: Permission.ALLOWED}
    assert tuple(worth_asking(WAYS, lambda one: known.get(one, Permission.UNKNOWN))) == (TAKE,)


def test_as_long_as_no_way_is_known_to_be_open_all_are_asked_each_once() -> None:
    ways = (*WAYS, (READ, TAKE))
    for known in (Permission.UNKNOWN, Permission.DENIED):
        assert tuple(worth_asking(ways, dict.fromkeys((MAKE, READ, TAKE), known).__getitem__)) == (
            MAKE, READ, TAKE,
        )  # fmt: skip
    assert tuple(worth_asking((), lambda _one: Permission.DENIED)) == ()


def test_a_missing_right_has_one_wording() -> None:
    missing = lacking(WAYS, lambda _one: Permission.DENIED)
    assert [cannot(one) for one in missing] == [
        "you cannot create jobs.batch in team-a",
        "you cannot delete jobs.batch in team-a",
    ]
    assert cannot("list queues") == "you cannot list queues"
