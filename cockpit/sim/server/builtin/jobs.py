"""Jobs: defaults, their own selector, what may not change (pkg/registry/batch/job/strategy.go)."""

from collections.abc import Iterator
from typing import Any

from cockpit.sim.port import Tree
from cockpit.sim.server.builtin.filling import filled
from cockpit.sim.server.builtin.pod_rules import pod_spec_faults
from cockpit.sim.server.builtin.pod_spec import complete_template
from cockpit.sim.server.object_meta import label_faults_at
from cockpit.sim.server.refusals import Cause, required, unsupported, wrong
from cockpit.sim.server.selectors import object_selector

_UID_LABEL = "batch.kubernetes.io/controller-uid"
_MOST_RETRIES = 2**31 - 1
_FIXED = (
    "completionMode",
    "podFailurePolicy",
    "backoffLimitPerIndex",
    "managedBy",
    "successPolicy",
)
_RESTARTS = ("OnFailure", "Never")


def complete(job: Tree) -> Tree:
    """A job with its defaults (pkg/apis/batch/v1/defaults.go)."""
    spec = job.get("spec") or {}
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec = {**spec, "completions": 1, "parallelism": 1}
    retries = _MOST_RETRIES if spec.get("backoffLimitPerIndex") is not None else 6
    spec = filled(
        spec,
        parallelism=1,
        backoffLimit=retries,
        completionMode="NonIndexed",
        suspend=False,
        manualSelector=False,
        podReplacementPolicy="Failed" if spec.get("podFailurePolicy") else "TerminatingOrFailed",
    )
    template = spec.get("template") or {}
    done = complete_template(template)
    if done != template:
        spec = {**spec, "template": done}
    labels = (done.get("metadata") or {}).get("labels")
    job = {**job, "spec": spec}
    if labels and not job["metadata"].get("labels"):
        job["metadata"] = {**job["metadata"], "labels": labels}
    return job


def revise(job: Tree, old: Tree | None) -> Tree:
    """A new job selects its pods by its own uid, unless it says that it knows better."""
    if old is not None:
        return job
    job = {**job, "status": {}}
    spec = job["spec"]
    if spec.get("manualSelector"):
        return job
    uid, name = job["metadata"]["uid"], job["metadata"].get("name", "")
    template = spec["template"]
    own = {_UID_LABEL: uid, "batch.kubernetes.io/job-name": name, "controller-uid": uid, "job-name": name}
    metadata = template.get("metadata") or {}
    labelled = {**metadata, "labels": {**(metadata.get("labels") or {}), **own}}
    selector = spec.get("selector") or {}
    matched = {**(selector.get("matchLabels") or {}), _UID_LABEL: uid}
    job["spec"] = {
        **spec,
        "selector": {**selector, "matchLabels": matched},
        "template": {**template, "metadata": labelled},
    }
    labels = job["metadata"].get("labels") or {}
    if labels == (metadata.get("labels") or {}):
        # What a job has no labels of its own for are those of its pods.
        job["metadata"] = {**job["metadata"], "labels": labelled["labels"]}
    return job


def check(job: Tree, old: Tree | None) -> Iterator[Cause]:
    """What is wrong with a job, or with a change of one."""
    spec = job["spec"]
    if old is not None and spec is old["spec"]:
        return
    if old is None:
        yield from _spec_faults(spec)
        return
    # The real server checks a changed job twice.
    faults = tuple(_spec_faults(spec))
    yield from _label_faults(job)
    yield from faults
    yield from faults
    yield from _change_faults(spec, old)


def _label_faults(job: Tree) -> Iterator[Cause]:
    """A job that selects by its uid keeps its marks on its pods."""
    if job["spec"].get("manualSelector") or job["spec"].get("selector") is None:
        return
    labels = (job["spec"]["template"].get("metadata") or {}).get("labels") or {}
    uid, name = job["metadata"].get("uid", ""), job["metadata"].get("name", "")
    own = {"controller-uid": uid, "job-name": name, _UID_LABEL: uid, "batch.kubernetes.io/job-name": name}
    for key, value in own.items():
        if labels.get(key) != value:
            yield required(f"spec.template.metadata.labels[{key}]", f"must be '{value}'")


def _spec_faults(spec: Tree) -> Iterator[Cause]:
    yield from template_faults(spec, "spec")
    labels = (spec["template"].get("metadata") or {}).get("labels") or {}
    selector = spec.get("selector")
    if selector is None:
        yield required("spec.selector")
    if not selector or not object_selector(selector)(labels):
        why = "`selector` does not match template `labels`"
        yield wrong("spec.template.metadata.labels", labels or None, why)


def template_faults(spec: Tree, at: str) -> Iterator[Cause]:
    """What is wrong with the spec of a job, or of a template of one, that stands at the path `at`."""
    for key in (
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
    ):
        value = spec.get(key)
        if value is not None and value < 0:
            yield wrong(f"{at}.{key}", value, "must be greater than or equal to 0")
    manager = spec.get("managedBy")
    if manager is not None and "/" not in manager:
        yield wrong(f"{at}.managedBy", manager, 'must be a domain-prefixed path (such as "acme.io/foo")')
    if spec.get("completionMode") == "Indexed":
        if spec.get("completions") is None:
            yield required(f"{at}.completions", "when completion mode is Indexed")
    elif (limit := spec.get("backoffLimitPerIndex")) is not None:
        yield wrong(f"{at}.backoffLimitPerIndex", limit, "requires indexed completion mode")
    template = spec["template"].get("spec") or {}
    labels = (spec["template"].get("metadata") or {}).get("labels") or {}
    yield from label_faults_at(f"{at}.template.metadata.labels", labels)
    yield from pod_spec_faults(template, f"{at}.template.spec")
    restarts = template.get("restartPolicy")
    if restarts == "Always":
        yield required(f"{at}.template.spec.restartPolicy", 'valid values: "OnFailure", "Never"')
    elif restarts not in _RESTARTS:
        yield unsupported(f"{at}.template.spec.restartPolicy", restarts, _RESTARTS)
    elif restarts == "OnFailure" and spec.get("podFailurePolicy"):
        why = 'only "Never" is supported when podFailurePolicy is specified'
        yield wrong(f"{at}.template.spec.restartPolicy", restarts, why)


def _change_faults(spec: Tree, old_job: Tree) -> Iterator[Cause]:
    old = old_job["spec"]
    if spec.get("completions") != old.get("completions") and not _is_elastic(spec, old):
        is_indexed = spec.get("completionMode") == "Indexed"
        why = "can only be modified in tandem with spec.parallelism" if is_indexed else "field is immutable"
        yield wrong("spec.completions", spec.get("completions"), why)
    if spec.get("selector") != old.get("selector"):
        yield wrong("spec.selector", spec.get("selector"), "field is immutable")
    is_open = old.get("suspend") and "startTime" not in (old_job.get("status") or {})
    before, after = old["template"], spec["template"]
    if is_open:
        before, after = _fixed_part(before), _fixed_part(after)
    if before != after:
        field = "spec.template.spec" if is_open else "spec.template"
        yield wrong(field, spec["template"], "field is immutable")
    for key in _FIXED:
        if spec.get(key) != old.get(key):
            yield wrong(f"spec.{key}", spec.get(key), "field is immutable")


def _is_elastic(spec: Tree, old: Tree) -> bool:
    """An indexed job may grow and shrink as long as completions and parallelism are the same number."""
    return bool(
        spec.get("completionMode") == "Indexed"
        and spec.get("completions") == spec.get("parallelism")
        and old.get("completions") is not None
        and spec.get("completions") is not None
    )


def _fixed_part(template: Tree) -> Any:
    """A template without what may change while the job has not begun: where its pods go, and their labels."""
    free = ("nodeSelector", "affinity", "tolerations", "schedulingGates")
    metadata = template.get("metadata") or {}
    rest = {key: value for key, value in metadata.items() if key not in ("labels", "annotations")}
    spec = {key: value for key, value in (template.get("spec") or {}).items() if key not in free}
    return rest, spec
