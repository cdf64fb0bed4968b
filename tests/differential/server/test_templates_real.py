"""Every built-in template on a real kube-apiserver with the real custom kinds, and on the embedded server."""

from pathlib import Path
from random import Random

import pytest

from cockpit.actions.submit import plan_submit
from cockpit.clock import ManualClock
from cockpit.jobs.render import sample_values
from cockpit.jobs.template import Template, load_library
from cockpit.kube.resource import NAMESPACES, Resource
from cockpit.sim.port import Tree
from cockpit.sim.resources import CUSTOM_RESOURCE_DEFINITIONS, SERVICE_ACCOUNTS
from cockpit.sim.server.assembly import assemble
from cockpit.sim.server.operations import Operations
from cockpit.sim.server.request import Request
from tests.bed.api import Api
from tests.bed.bed import Bed
from tests.bed.manifests import document
from tests.bed.modules import module_folder
from tests.bed.setup import apply_all, wait_established
from tests.unit.templates.filled import GOOD, everything

pytestmark = pytest.mark.real

TEMPLATES = load_library().templates
KINDS = (
    ("github.com/kubeflow/mpi-operator", "v0.7.0", "manifests/base/kubeflow.org_mpijobs.yaml"),
    ("sigs.k8s.io/jobset", "v0.10.1", "config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml"),
    (
        "github.com/kubeflow/trainer/v2",
        "v2.1.0",
        "manifests/base/crds/trainer.kubeflow.org_trainjobs.yaml",
    ),
    (
        "github.com/kubeflow/training-operator",
        "v1.9.3",
        "manifests/base/crds/kubeflow.org_pytorchjobs.yaml",
    ),
    ("github.com/ray-project/kuberay/ray-operator", "v1.4.2", "config/crd/bases/ray.io_rayjobs.yaml"),
    ("github.com/ray-project/kuberay/ray-operator", "v1.4.2", "config/crd/bases/ray.io_rayclusters.yaml"),
    ("sigs.k8s.io/lws", "v0.7.0", "config/crd/bases/leaderworkerset.x-k8s.io_leaderworkersets.yaml"),
    (
        "volcano.sh/volcano",
        "v1.10.0",
        "installer/helm/chart/volcano/crd/bases/batch.volcano.sh_jobs.yaml",
    ),
)
SPACE: Tree = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "templates"}}
ACCOUNT: Tree = {
    "apiVersion": "v1",
    "kind": "ServiceAccount",
    "metadata": {"name": GOOD["object-name"], "namespace": "templates"},
}
"""Of the filled templates. The bed's server runs without the admission that looks it up."""
STRICT = (("dryRun", "All"), ("fieldValidation", "Strict"))


def _values(template: Template, *, is_full: bool) -> dict[str, str]:
    """Sample values, or every field filled in, as far as both may stand together on a bare API server."""
    if not is_full:
        return {**sample_values(template), "namespace": "templates"}
    # Priority classes are looked up by admission: there is none on a bare server.
    values = {**everything(template), "namespace": "templates"}
    return {name: text for name, text in values.items() if name != "pod-priority"}


@pytest.fixture(scope="module")
def definitions() -> list[Tree]:
    return [document(Path(module_folder(module, version)) / path) for module, version, path in KINDS]


@pytest.fixture(scope="module")
def api(bed_apiserver: Bed, definitions: list[Tree]) -> Api:
    api = bed_apiserver.api()
    apply_all(api, definitions, fresh=True)
    apply_all(api, [SPACE], fresh=True)
    wait_established(api, [one["metadata"]["name"] for one in definitions])
    return api


@pytest.fixture(scope="module")
def embedded(definitions: list[Tree]) -> Operations:
    """The embedded server with the same custom kinds; those of a scenario are leaner than the real ones."""
    operations = assemble(ManualClock(), Random(1)).operations
    for one in definitions:
        operations.create(Request(resource=CUSTOM_RESOURCE_DEFINITIONS, verb="create"), one)
    operations.create(Request(resource=NAMESPACES, verb="create"), SPACE)
    operations.create(Request(resource=SERVICE_ACCOUNTS, namespace="templates", verb="create"), ACCOUNT)
    return operations


@pytest.mark.parametrize("is_full", [False, True], ids=["sample", "full"])
@pytest.mark.parametrize("template", TEMPLATES.values(), ids=lambda one: str(one.name))
def test_the_real_server_takes_it(api: Api, template: Template, is_full: bool) -> None:
    (call,) = plan_submit(template, _values(template, is_full=is_full)).calls
    reply = api.request("POST", call.path, call.body, query=STRICT).checked()
    assert reply.status == 201
    assert reply.warnings == ()


def _comparable(tree: object) -> object:
    """The tree without the uid that a Job selects its pods by, and without the service account: the bed's
    server runs without that admission."""
    if isinstance(tree, list):
        return [_comparable(one) for one in tree]
    if not isinstance(tree, dict):
        return tree
    left_out = ("controller-uid", "serviceAccount", "serviceAccountName")
    return {key: _comparable(one) for key, one in tree.items() if not key.endswith(left_out)}


@pytest.mark.parametrize("is_full", [False, True], ids=["sample", "full"])
@pytest.mark.parametrize("template", TEMPLATES.values(), ids=lambda one: str(one.name))
def test_the_embedded_server_takes_it_and_fills_in_the_same(
    api: Api, embedded: Operations, template: Template, is_full: bool
) -> None:
    (call,) = plan_submit(template, _values(template, is_full=is_full)).calls
    *_, version, _, namespace, plural = call.path.split("/")
    group = template.api_version.rpartition("/")[0]
    resource = Resource(group, version, plural, template.kind, namespaced=True)
    request = Request(
        resource=resource, namespace=namespace, verb="create", dry_run=True, field_validation="Strict"
    )
    made = embedded.create(request, call.body).stored.tree
    real = api.request("POST", call.path, call.body, query=STRICT).checked().json()
    assert _comparable(made["spec"]) == _comparable(real["spec"])


def test_what_the_real_server_would_drop_is_refused(api: Api) -> None:
    """Strict validation is at work: a field that no schema knows does not pass."""
    (call,) = plan_submit(TEMPLATES["jobset"], sample_values(TEMPLATES["jobset"])).calls
    call.body["spec"]["replicatedJob"] = []
    reply = api.request("POST", call.path, call.body, query=STRICT)
    assert reply.status == 400
    assert 'unknown field "spec.replicatedJob"' in reply.json()["message"]
