"""The page that describes an object, and the tree of its owners."""

from cockpit.kube.object_details import detail_of
from cockpit.model.event import Event
from cockpit.model.object_table import ObjectAddress, OwnedObject
from cockpit.views.describe import describe_lines, owner_lines

NOW = 1_000_000.0
TREE = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {
        "name": "web",
        "namespace": "team-a",
        "uid": "u",
        "creationTimestamp": "1970-01-12T13:45:40Z",
        "labels": {"b": "2", "a": "1"},
        "annotations": {"note": "two\nlines"},
        "finalizers": ["keep/me"],
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "A", "name": "second", "uid": "a"},
            {"apiVersion": "v1", "kind": "B", "name": "first", "uid": "b", "controller": True},
        ],
    },
    "spec": {"replicas": 3},
    "status": {
        "readyReplicas": 1,
        "conditions": [
            {"type": "Available", "status": "False", "reason": "TooFew", "message": "1 of 3"},
            {"type": "Progressing", "status": "True"},
            {"type": "Odd", "status": "Unknown"},
        ],
    },
}


def event(**fields: object) -> Event:
    return Event(uid="e", name="e", **{"type": "Warning", "reason": "Failed", "message": "no", **fields})  # type: ignore[arg-type]


def test_what_an_object_says_comes_in_the_order_in_which_it_is_looked_for() -> None:
    lines = describe_lines(detail_of(TREE), [event(last_seconds=NOW - 60), event(last_seconds=NOW)], NOW)
    assert lines[:6] == [
        "Deployment team-a/web · apps/v1",
        "created     1m00s ago",
        "owner       B first",
        "            A second",
        "labels      a=1",
        "            b=2",
    ]
    text = "\n".join(lines)
    assert "annotations note=two\n              lines" in text
    assert "  ▲ Available    False           TooFew: 1 of 3" in lines
    assert "  ● Progressing  True" in lines and "  ? Odd          Unknown" in lines
    assert "  ▲    0s x2  Failed: no" in lines
    places = [text.index(part) for part in ("Conditions", "Events", "Spec", "  replicas: 3", "Status")]
    assert places == sorted(places)
    assert "readyReplicas: 1" in text and text.count("Available") == 1


def test_what_is_absent_is_left_out_and_damage_is_no_crash() -> None:
    detail = detail_of({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": 3})
    assert describe_lines(detail, [], NOW)[0] == "Node n · v1"
    assert detail.created_seconds is None and detail.conditions == ()
    damaged = {"metadata": {"labels": 3, "finalizers": None, "ownerReferences": ["x"]}}
    assert describe_lines(detail_of(damaged), [], NOW)


def test_a_tree_of_owners_marks_the_one_that_was_asked_about() -> None:
    def pod(number: int) -> OwnedObject:
        return OwnedObject(ObjectAddress("v1", "Pod", "a", f"p-{number}"), "running")

    job = OwnedObject(ObjectAddress("batch/v1", "Job", "a", "j"), children=(pod(10), pod(2)), error="denied")
    assert owner_lines(job, pod(2).address) == [
        "Job a/j",
        "  denied",
        "├ Pod a/p-2  running  ◂",
        "└ Pod a/p-10  running",
    ]
