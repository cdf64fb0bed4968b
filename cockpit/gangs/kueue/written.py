"""What Kueue writes into a job, its pod templates and its pods.

Sources: kueue apis/kueue/v1beta2, pkg/constants, pkg/controller/constants, pkg/podset/podset.go,
pkg/controller/jobs/*, pkg/controller/admissionchecks/provisioning.
"""

from collections.abc import Mapping
from typing import Any, Final

from cockpit.k8s.json_values import mapping

_GROUP: Final = "kueue.x-k8s.io"
_POD_SET: Final = f"{_GROUP}/podset"
_MULTIKUEUE: Final = f"{_GROUP}/multikueue"
_MANAGER: Final = f"{_GROUP}/manager"
_SAME_COMPLETIONS: Final = f"{_GROUP}/job-completions-equal-parallelism"
WRITTEN: Final = (
    *(_POD_SET, f"{_GROUP}/workload", f"{_GROUP}/managed", f"{_GROUP}/stopping", f"{_GROUP}/tas"),
    *(f"{_GROUP}/cluster-queue-name", f"{_GROUP}/local-queue-name", f"{_GROUP}/job-uid"),
    *(f"{_GROUP}/workload-slice-name", f"{_GROUP}/workload-slice-replacement-for"),
    # a prebuilt Workload is that of the object that it was built for
    *(f"{_GROUP}/prebuilt-workload-name", f"{_GROUP}/multikueue-origin", f"{_GROUP}/multikueue-origin-uid"),
    *(f"{_GROUP}/multikueue-worker-workload-pod", f"{_GROUP}/component-workload-index"),
    *(f"{_GROUP}/role-hash", f"{_GROUP}/pod-suspending-parent", f"{_GROUP}/pod-index-offset"),
    *(f"{_GROUP}/is-group-workload", f"{_GROUP}/job-owner-gvk", f"{_GROUP}/job-owner-name"),
    *(f"{_GROUP}/raycluster-generation", f"{_GROUP}/raycluster-podset-replica-sizes"),
    *(f"{_GROUP}/admission", f"{_GROUP}/topology", f"{_GROUP}/resource-in-use"),
)
"""Labels, annotations and scheduling gates."""


def take_out(manifest: dict[str, Any], workload: Mapping[str, Any] | None) -> None:
    """Take out what it wrote into the spec of a job: patches of a TrainJob, pod sets of an AppWrapper, who
    manages it in another cluster, and a parallelism below what was asked for."""
    spec = mapping(manifest.get("spec"))
    _keep(spec, "runtimePatches", lambda one: one.get("manager") != _MANAGER)
    _keep(spec, "podTemplateOverrides", lambda one: _POD_SET not in _labels(one))
    components = spec.get("components")
    for component in components if isinstance(components, list) else ():
        if isinstance(component, dict):
            component.pop("podSetInfos", None)
    if spec.get("managedBy") == _MULTIKUEUE:
        del spec["managedBy"]
    if manifest.get("kind") == "Job" and workload is not None:
        _ask_whole(manifest, spec, workload)


def _labels(override: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(mapping(override.get("metadata")).get("labels"))


def _keep(spec: dict[str, Any], key: str, is_kept: Any) -> None:
    items = spec.get(key)
    if not isinstance(items, list):
        return
    spec[key] = [one for one in items if not isinstance(one, dict) or is_kept(one)]
    if not spec[key]:
        del spec[key]


def _ask_whole(manifest: Mapping[str, Any], spec: dict[str, Any], workload: Mapping[str, Any]) -> None:
    """A Job that was let in with fewer pods asks for all of them again."""
    sets = mapping(workload.get("spec")).get("podSets")
    part = mapping(sets[0]) if isinstance(sets, list) and len(sets) == 1 else {}
    count, parallelism = part.get("count"), spec.get("parallelism")
    if "minCount" not in part or not isinstance(count, int) or not isinstance(parallelism, int):
        return
    if parallelism < count:
        notes = mapping(mapping(manifest.get("metadata")).get("annotations"))
        if notes.get(_SAME_COMPLETIONS) == "true" and spec.get("completions") == parallelism:
            spec["completions"] = count
        spec["parallelism"] = count
