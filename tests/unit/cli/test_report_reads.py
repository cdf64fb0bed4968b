"""What `cockpit why --report` lists: no contents of ConfigMaps, whatever it is about."""

from types import SimpleNamespace
from typing import Any

import pytest

from cockpit.attach import watched_kinds
from cockpit.commands.report import _asked
from cockpit.kube.resource import Resource
from cockpit.model.finding import Subject
from cockpit.model.namespaces import EVERY
from cockpit.store.store import Store


def _served(group: str, plural: str) -> Resource:
    return Resource(group, "v1", plural, plural.title(), namespaced=True)


@pytest.mark.parametrize("subject", [Subject("pod", "team-a", "x"), Subject("node", "", "n1")], ids=str)
def test_of_config_maps_only_that_they_are_there(subject: Subject) -> None:
    attachment: Any = SimpleNamespace(namespaces=EVERY, store=Store(), served=SimpleNamespace(find=_served))
    asked = [one for one in _asked(attachment, subject) if one[0].plural in ("configmaps", "secrets")]
    assert [(one[1], one[2]) for one in asked] == ([("team-a", True)] if subject.namespace else [])
    assert any(one.plural == "configmaps" for one in watched_kinds()), "the autoscaler's own is watched"
    listed = {one[0].plural for one in _asked(attachment, subject)}
    assert {"pods", "nodes", "nodepools", "machinedeployments"} <= listed
