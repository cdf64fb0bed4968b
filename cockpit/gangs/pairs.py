"""Pairs that are known to go wrong, told from a rendered manifest before it is sent.

Sources: mpi-operator#608, #615; volcano docs/user-guide/how_to_use_mpi_plugin.md; kueue integrations;
scheduler-plugins pkg/coscheduling; KEP-4671.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from cockpit.gangs import coscheduling, kai, kueue_attach, volcano
from cockpit.gangs.manifests import mapping, members_of, templates

_DEFAULT = ("", "default-scheduler")


def refusals(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """One sentence for each pair that cannot work, () when none."""
    return tuple(dict.fromkeys((*_two_engines(manifest), *_schedulers(manifest), *_deadlocks(manifest))))


def _pods(manifest: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]:
    """(labels, annotations, spec) of each pod template."""
    for template, _ in templates(manifest):
        metadata = mapping(template.get("metadata"))
        yield (
            mapping(metadata.get("labels")),
            mapping(metadata.get("annotations")),
            mapping(template.get("spec")),
        )


def engines_named(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Engines that the manifest's labels, annotations and schedulers ask for, in the order of their names."""
    labels = mapping(mapping(manifest.get("metadata")).get("labels"))
    found = set()
    if labels.get(kueue_attach.QUEUE_LABEL):
        found.add("Kueue")
    if str(manifest.get("apiVersion")) == volcano.JOB_API_VERSION or labels.get("volcano.sh/queue-name"):
        found.add(volcano.NAME)
    if labels.get(kai.QUEUE_LABEL):
        found.add(kai.NAME)
    for pod_labels, notes, spec in _pods(manifest):
        if coscheduling.LABEL in pod_labels:
            found.add(coscheduling.NAME)
        if volcano.GROUP_ANNOTATION in notes or spec.get("schedulerName") == volcano.SCHEDULER:
            found.add(volcano.NAME)
        if spec.get("schedulerName") == kai.SCHEDULER:
            found.add(kai.NAME)
        if spec.get("schedulingGroup"):
            found.add("native gang")
    return tuple(sorted(found))


def _two_engines(manifest: Mapping[str, Any]) -> Iterator[str]:
    named = engines_named(manifest)
    placing = [one for one in named if one != "Kueue"]
    if "Kueue" in named and volcano.NAME in named:
        yield "a Kueue queue and Volcano's scheduler: each holds the job for the other; keep one of them"
    if "Kueue" in named and kai.NAME in named:
        yield "a Kueue queue and KAI's queue count the same GPUs twice; keep one of them"
    if len(placing) > 1:
        yield f"{' and '.join(placing)} would both place its pods; keep one of them"
    if str(manifest.get("kind")) in ("MPIJob", "TrainJob") and "native gang" in named:
        yield f"{manifest['kind']} drops the pods' schedulingGroup: its pods would start one by one"


def _schedulers(manifest: Mapping[str, Any]) -> Iterator[str]:
    names = {str(spec.get("schedulerName") or "") for _, _, spec in _pods(manifest)}
    # A launcher of Volcano's Job takes the scheduler from the job, not from its template.
    if len(names) > 1 and any(name not in _DEFAULT for name in names):
        told = " and ".join(sorted(name or "default-scheduler" for name in names))
        yield f"its pods name different schedulers ({told}): a gang needs one"
    for labels, _, spec in _pods(manifest):
        if coscheduling.LABEL in labels and str(spec.get("schedulerName") or "") in _DEFAULT:
            yield "a pod group of scheduler-plugins without schedulerName: its pods would start one by one"


def _deadlocks(manifest: Mapping[str, Any]) -> Iterator[str]:
    spec = mapping(manifest.get("spec"))
    members = members_of(manifest)
    policy = mapping(mapping(spec.get("runPolicy")).get("schedulingPolicy"))
    least = policy.get("minAvailable")
    if (
        spec.get("launcherCreationPolicy") == "WaitForWorkersReady"
        and isinstance(least, int)
        and least >= members
    ):
        yield (
            f"WaitForWorkersReady makes the launcher last, minAvailable {least} counts it: they never meet;"
            f" use AtStartup or minAvailable {members - 1}"
        )
    elif isinstance(least, int) and least > members:
        yield f"minAvailable {least} is more than its {members} pods: it would wait for ever"
    if str(manifest.get("apiVersion")) == volcano.JOB_API_VERSION:
        yield from _volcano_job(spec, members)


def _volcano_job(spec: Mapping[str, Any], members: int) -> Iterator[str]:
    least = spec.get("minAvailable")
    if not isinstance(least, int):
        return
    if least > members:
        yield f"minAvailable {least} is more than its {members} pods: it would wait for ever"
    elif least == members and "mpi" in mapping(spec.get("plugins")):
        yield (
            f"the mpi plugin makes the master after the workers and minAvailable {least} counts it: both wait"
            f" for ever; use {members - 1}"
        )
