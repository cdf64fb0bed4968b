"""What the form makes for training, on a real API server with the real mpi-operator and its CRD.

The server takes it in a dry run, and of the same job the real operator and the embedded one make the same
pods, hostfile, script that finds hosts, environment and ssh mounts. Nothing runs: there is no node, and the
test itself says that the workers run. What is known to differ stands in `KNOWN`, with the reason.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from cockpit.actions.submit import plan_submit
from cockpit.jobs.template import load_library
from cockpit.kube.resource import JOBS, MPIJOBS, PODS, SERVICES, Resource
from cockpit.sim.resources import CONFIG_MAPS, SECRETS
from tests.bed import sandbox
from tests.bed.bed import Bed
from tests.bed.binaries import NEWER
from tests.bed.fixtures import fresh
from tests.differential.ahead import awaited
from tests.differential.controller_ground import running
from tests.differential.controller_sides import Ours
from tests.differential.controller_sights import Tree, chances, differing, levelled, ordered
from tests.unit.sim.training.trainer import FORM

pytestmark = pytest.mark.real

MADE = (JOBS, PODS, SERVICES, CONFIG_MAPS, SECRETS)
PATIENCE_SECONDS = 60.0
"""Only a failure waits so long."""

FORMS = {
    "horovodrun": ("mpijob", FORM),
    "mpirun": ("mpijob", {**FORM, "launcher": "mpirun", "workers": "3", "gpus": "2"}),
    "elastic": ("mpijob-elastic", {key: value for key, value in FORM.items() if key != "launcher"}),
}
"""Template and what is filled in, by the namespace; the first is the job of the scenario `training`."""


@dataclass(frozen=True)
class Known:
    """A field of a spec that is known to differ, and how; None where it is not there."""

    resource: Resource
    field: str
    ours: str | None
    theirs: str | None
    why: str


KNOWN = (
    Known(
        *(JOBS, "podReplacementPolicy", "TerminatingOrFailed", "Failed"),
        "since 0.8 a launcher is replaced only when it has ended; 0.6, which the embedded operator imitates, "
        "leaves the field to the server",
    ),
    *(
        Known(PODS, field, "default", None, "the bed's API server runs without the service account admission")
        for field in ("serviceAccount", "serviceAccountName")
    ),
)


@pytest.fixture(scope="module")
def bed(request: pytest.FixtureRequest) -> Iterator[Bed]:
    """kube-controller-manager and mpi-operator 0.8; no nodes, so that every pod stays as it is made."""
    if (reason := sandbox.why_not()) is not None:
        pytest.skip(reason)
    yield from fresh({"mpi"}, request, generation=NEWER)


@pytest.fixture
def embedded(space: str) -> Iterator[Ours]:
    ours = Ours(space)
    yield ours
    ours.close()


def made(
    listed: Callable[[Resource], list[Tree]], difference: Callable[[Known], str | None]
) -> dict[str, Any]:
    """What was made of the job, without status and what differs by chance.

    Where a field is as `KNOWN` has it for this side, the reason stands for it. Any other value is compared,
    also that of the other side.
    """
    found = {
        resource: [tree for tree in listed(resource) if tree["metadata"]["name"] != "kube-root-ca.crt"]
        for resource in (MPIJOBS, *MADE)
    }
    words = chances(found)
    plain: dict[str, Any] = {}
    for resource in MADE:
        wishes = [_wish(resource, levelled(tree, words)) for tree in found[resource]]
        for known in (one for one in KNOWN if one.resource == resource):
            for wish in wishes:
                if wish["spec"].get(known.field) == difference(known):
                    wish["spec"][known.field] = known.why
        plain[resource.plural] = ordered(wishes)
    return plain


def _wish(resource: Resource, tree: Tree) -> Tree:
    left_out = ("uid", "resourceVersion", "creationTimestamp", "managedFields")
    wish = {key: value for key, value in tree.items() if key not in ("apiVersion", "kind", "status")}
    wish["metadata"] = {key: value for key, value in tree["metadata"].items() if key not in left_out}
    # The ssh keys are made anew for each job.
    return {**wish, "data": sorted(tree["data"])} if resource == SECRETS else wish


@pytest.mark.parametrize("space", FORMS)
def test_the_real_operator_makes_the_same_of_it(bed: Bed, embedded: Ours, space: str) -> None:
    api = bed.api()
    template, values = FORMS[space]
    (call,) = plan_submit(load_library().named(template), {**values, "namespace": space}).calls
    api.create("/api/v1/namespaces", {"metadata": {"name": space}})
    strict = (("dryRun", "All"), ("fieldValidation", "Strict"))
    reply = api.request("POST", call.path, call.body, query=strict).checked()
    assert (reply.status, reply.warnings) == (201, ())
    assert api.items(call.path) == []

    def same() -> dict[str, Any]:
        """What both have made, as soon as the real operator is where the embedded one is."""
        ours = made(embedded.listed, lambda known: known.ours)
        theirs = awaited(
            lambda: made(lambda kind: api.items(kind.path(space)), lambda known: known.theirs),
            ours.__eq__,
            PATIENCE_SECONDS,
        )
        assert theirs == ours, differing(ours, theirs)
        return theirs

    api.create(call.path, call.body)
    embedded.make(call.body)
    begun = same()
    workers = [pod["metadata"]["name"] for pod in begun["pods"] if "-worker-" in pod["spec"]["hostname"]]
    (config,) = begun["configmaps"]
    assert [line.split(".")[0] for line in config["data"]["hostfile"].splitlines()] == workers
    assert config["data"]["discover_hosts.sh"] == "#!/bin/sh\n"
    embedded.become(*workers, **running())
    for name in workers:
        api.merge(PODS.path(space, name, "status"), {"status": running()})
    (config,) = same()["configmaps"]
    assert config["data"]["discover_hosts.sh"].count("echo ") == len(workers)
