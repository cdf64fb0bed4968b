"""Which pod a name means."""

import pytest

from cockpit.actions.find import pod_named
from cockpit.errors import BadInput
from cockpit.model.namespaces import Namespaces
from cockpit.model.pod import Pod

PODS = [Pod(uid=f"{space}/{name}", name=name, namespace=space) for space in "ab" for name in ("web", "one")]


def test_a_name_and_its_namespace() -> None:
    assert pod_named(PODS, "a/web").uid == "a/web"
    assert pod_named(PODS, "web", Namespaces(("b",))).uid == "b/web"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("web", "'web' is ambiguous: a/web, b/web"),
        ("a/wed", "did you mean a/web"),
        ("pod/a/web", "is not a pod: write name or namespace/name"),
        ("/web", "is not a pod"),
        ("", "is not a pod"),
    ],
)
def test_what_no_pod_is_called(text: str, part: str) -> None:
    with pytest.raises(BadInput, match=part):
        pod_named(PODS, text)
