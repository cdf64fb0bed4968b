"""Custom resource definitions live alike on both servers: names and their conflicts, status, owners, end.

After every step both servers come to show the same definitions, owners of fields included; and whatever a
watcher of ours was told on the way, one of the real server was told in the same order. (The real one now and
then tells more: it tries again where the storage of a kind is not ready.)
"""

import json
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from tests.bed.api import Api, ApiError
from tests.bed.bed import Bed
from tests.differential.server.test_write_stories_real import embedded, plain
from tests.differential.tree_differences import differences

pytestmark = pytest.mark.real

Tree = dict[str, Any]
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_PATIENCE_SECONDS = 120.0
"""Only a failure waits so long."""


def _definition(group: str, plural: str, kind: str, short: tuple[str, ...], **names: str) -> Tree:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, "shortNames": list(short), **names},
            "versions": [version],
        },
    }


def _make(plural: str, kind: str, short: tuple[str, ...], **names: str) -> Callable[[Api, str], None]:
    def step(api: Api, group: str) -> None:
        api.create(CRDS, _definition(group, plural, kind, short, **names))

    return step


def _rename(plural: str, **names: Any) -> Callable[[Api, str], None]:
    def step(api: Api, group: str) -> None:
        api.merge(f"{CRDS}/{plural}.{group}", {"spec": {"names": names}})

    return step


def _remove(plural: str) -> Callable[[Api, str], None]:
    def step(api: Api, group: str) -> None:
        api.delete(f"{CRDS}/{plural}.{group}")

    return step


def _make_one(api: Api, group: str) -> None:
    """The real server serves a kind a moment after it says so."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            api.create(f"/apis/{group}/v1/namespaces/default/gizmos", _one(group))
            return
        except ApiError as error:
            if error.status != 404 or time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def _one(group: str) -> Tree:
    return {"apiVersion": f"{group}/v1", "kind": "Gizmo", "metadata": {"name": "one"}}


# Never two that wait for one name: who gets it would be chance.
STEPS: dict[str, Callable[[Api, str], None]] = {
    "a definition": _make("gizmos", "Gizmo", ("gz",)),
    "a short name that is taken": _make("doodads", "Doodad", ("gz", "dd")),
    "two short names that are taken": _make("odds", "Odd", ("gizmos", "gz")),
    "a kind that is taken": _make("knacks", "Gizmo", ("kn",), singular="knack"),
    "a singular that is taken": _make("whats", "What", ("gizmos",), singular="gizmo"),
    "an object": _make_one,
    "one more short name": _rename("gizmos", shortNames=["gz", "gg"], categories=["all"]),
    "a short name becomes free": _rename("gizmos", shortNames=["gg"]),
    "one that is served wants a taken name": _rename("doodads", shortNames=["gg"]),
    "one that never was served goes": _remove("odds"),
    "all names become free": _remove("gizmos"),
    "one takes what it can get": _remove("knacks"),
    "the rest goes": _remove("doodads"),
}


def _shown(api: Api, group: str) -> list[Any]:
    return [plain(one) for one in api.items(CRDS) if one["spec"]["group"] == group]


def _told(api: Api, group: str, since: str) -> dict[str, list[str]]:
    """What a watcher hears from a version up to now, by definition."""
    query = (("watch", "1"), ("resourceVersion", since), ("timeoutSeconds", "1"))
    told: dict[str, list[str]] = {}
    for line in api.request("GET", CRDS, query=query).checked().body.splitlines():
        event = json.loads(line)
        if event["type"] != "BOOKMARK" and event["object"]["spec"]["group"] == group:
            name = event["object"]["metadata"]["name"]
            told.setdefault(name, []).append(json.dumps(plain(event), sort_keys=True))
    return told


def test_names_are_given_and_refused_alike(bed_apiserver: Bed) -> None:
    group = f"names-{uuid.uuid4().hex[:6]}.test"
    with embedded(has_quotas=False) as mine:
        real = bed_apiserver.api()
        since = [api.get(CRDS)["metadata"]["resourceVersion"] for api in (mine, real)]
        for title, step in STEPS.items():
            step(mine, group)
            step(real, group)
            here = _shown(mine, group)
            deadline = time.monotonic() + _PATIENCE_SECONDS
            while lines := differences(here, _shown(real, group)):
                assert time.monotonic() < deadline, "\n".join([title, *lines])
                time.sleep(0.2)
        here_told, there_told = (
            _told(api, group, version) for api, version in zip((mine, real), since, strict=True)
        )
    assert here_told.keys() == there_told.keys()
    for name, events in here_told.items():
        rest = iter(there_told[name])
        missing = [event for event in events if event not in rest]
        assert not missing, f"{name}: the real server never told, or later: {missing[0]}"


def test_a_taken_name_is_told() -> None:
    """Ours alone, so that the story itself has been seen to happen."""
    group = "alone.test"
    with embedded(has_quotas=False) as mine:
        for title in ("a definition", "two short names that are taken"):
            STEPS[title](mine, group)
        status = mine.get(f"{CRDS}/odds.{group}")["status"]
        said = {one["type"]: (one["status"], one["reason"], one["message"]) for one in status["conditions"]}
        assert said == {
            "NamesAccepted": (
                "False",
                "ShortNamesConflict",
                '["gizmos" is already in use, "gz" is already in use]',
            ),
            "Established": ("False", "NotAccepted", "not all names are accepted"),
        }
        assert mine.request("GET", f"/apis/{group}/v1/namespaces/default/odds").status == 404
        owners = mine.get(f"{CRDS}/gizmos.{group}")["metadata"]["managedFields"]
        assert [(one["manager"], one.get("subresource")) for one in owners] == [
            ("cockpit-bed", None),
            ("kube-apiserver", "status"),
        ]
        STEPS["all names become free"](mine, group)
        assert mine.request("GET", f"/apis/{group}/v1/namespaces/default/odds").status == 200
