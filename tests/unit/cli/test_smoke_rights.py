"""`cockpit node smoke-test`: where a step of the test would be refused nothing is begun."""

import pytest

from tests.unit.cli.builders import Cluster, run

RULES = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
ALL = (
    ("batch", "jobs", ["create", "get", "delete"]),
    ("", "pods", ["list"]),
    ("", "pods/log", ["get"]),
)


def rules(*without: tuple[str, str]) -> dict[str, object]:
    """The review of a user who has all rights of the test but these (verb, resource)."""
    found = [
        {
            "apiGroups": [group],
            "resources": [one],
            "verbs": [verb for verb in verbs if (verb, one) not in without],
        }
        for group, one, verbs in ALL
    ]
    return {"status": {"resourceRules": found, "incomplete": False}}


@pytest.mark.parametrize(
    ("verb", "resource", "told"),
    [
        ("delete", "jobs", "you cannot delete jobs.batch in team-a"),
        ("list", "pods", "you cannot list pods in team-a"),
        ("get", "pods/log", "you cannot get pods/log in team-a"),
    ],
)
def test_a_missing_right_is_named_before_anything_is_made(
    verb: str, resource: str, told: str, cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.reads[RULES] = [rules((verb, resource))]
    code, _out, err = run(capsys, "node", "smoke-test", "gpu-1", "--namespace", "team-a", "--write", "--yes")
    assert (code, err) == (1, f"cockpit: {told}, which the test needs; ask for that right\n")
    assert cluster.sent == cluster.rehearsed == []


def test_with_all_rights_it_is_tried(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    cluster.reads[RULES] = [rules()]
    code, out, _err = run(capsys, "node", "smoke-test", "gpu-1", "--namespace", "team-a", "--dry-run")
    assert code == 0 and "the cluster would accept it" in out
    assert len(cluster.rehearsed) == 1


def test_what_the_server_does_not_say_refuses_nothing(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _out, _err = run(capsys, "node", "smoke-test", "gpu-1", "--namespace", "team-a", "--dry-run")
    assert code == 0 and len(cluster.rehearsed) == 1
