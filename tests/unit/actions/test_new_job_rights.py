"""The rights that a new job needs are those of the calls that make it, of each template and namespace."""

import os
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from cockpit.actions.form_rights import MOST_NAMESPACES, kinds_of_templates
from cockpit.actions.submit import plan_submit
from cockpit.actions.verbs.job import SUBMIT
from tests.unit.actions.builders import rights_of
from tests.unit.actions.test_verb_rights import NAMED, TEMPLATES, lookup, namespaces


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_a_new_job_needs_the_right_to_create_one_of_what_the_templates_make(name: str) -> None:
    template = TEMPLATES[name]
    assert (template.api_version, template.kind) in kinds_of_templates()


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_one_way_of_a_new_job_is_that_of_the_call_that_makes_it(name: str) -> None:
    known = {one.name for one in TEMPLATES[name].parameters}
    given = {
        key: value for key, value in {**NAMED, "node": "gpu-1", "schedule": "@daily"}.items() if key in known
    }
    plan = plan_submit(TEMPLATES[name], given, "team-a", lookup=lookup)
    made = [msgspec.structs.replace(one, namespace="team-1") for one in rights_of(plan)[:1]]
    assert tuple(made) in SUBMIT.planner.ways(namespaces(2), ())


OWN = """
template: {name: own, title: Own}
parameters:
- {name: name, type: dns-label}
manifest: {apiVersion: apps/v1, kind: KIND, metadata: {name: {$param: name}}, spec: {}}
"""


def test_a_template_of_ones_own_is_a_way_as_soon_as_its_file_says_so(tmp_path: Path) -> None:
    planning = replace(namespaces(1), template_folders=(tmp_path,))

    def ways() -> set[str]:
        return {way[0].label for way in SUBMIT.planner.ways(planning, ())}

    assert "deployments.apps" not in ways() and "jobs.batch" in ways()
    file = tmp_path / "own.yaml"
    for at, (kind, is_there) in enumerate((("StatefulSet", False), ("Deployment", True))):
        file.write_text(OWN.replace("KIND", kind))
        os.utime(file, ns=(at, at))
        assert ("deployments.apps" in ways()) is is_there
    (tmp_path / "nowhere.yaml").symlink_to(tmp_path / "gone")
    assert "jobs.batch" in ways()


def test_a_new_job_may_go_to_any_namespace_that_is_known() -> None:
    ways = SUBMIT.planner.ways(namespaces(2), ())
    assert all(len(way) == 1 and way[0].verb == "create" for way in ways)
    assert {way[0].namespace for way in ways} == {"team-0", "team-1"}
    assert {way[0].label for way in ways} >= {"jobs.batch", "mpijobs.kubeflow.org", "pods"}


@pytest.mark.parametrize("count", [0, MOST_NAMESPACES + 1])
def test_where_namespaces_are_not_known_or_too_many_nothing_is_said_of_a_new_job(count: int) -> None:
    assert SUBMIT.planner.ways(namespaces(count), ()) == ()
