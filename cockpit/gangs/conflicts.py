"""What is known to go wrong with engines, told from a rendered manifest before it is sent.

Sources: mpi-operator#608, #615; KEP-4671; what the engines' own packages name.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cockpit.gangs import registry
from cockpit.gangs.engine import Engine
from cockpit.gangs.manifests import job_in, members_of, templates
from cockpit.gangs.sentence import counted
from cockpit.k8s.json_values import mapping
from cockpit.model.pod import DEFAULT_SCHEDULERS

Templates = Sequence[Mapping[str, Any]]


def refusals(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """One sentence for each conflict that cannot work, () when none."""
    pods = tuple(templates(manifest))
    own = (
        sentence
        for one in registry.engines()
        if one.groups is not None
        for sentence in one.groups.conflicts(manifest, pods)
    )
    found = (*_two_engines(manifest, pods), *own, *_schedulers(pods), *_deadlocks(manifest))
    return tuple(dict.fromkeys(found))


def engines_named(manifest: Mapping[str, Any]) -> tuple[Engine, ...]:
    """Engines that the manifest's labels, annotations and schedulers ask for, in the order of their names."""
    return _named(manifest, tuple(templates(manifest)))


def _named(manifest: Mapping[str, Any], pods: Templates) -> tuple[Engine, ...]:
    found = (one for one in registry.engines() if _is_named(one, manifest, pods))
    return tuple(sorted(found, key=lambda one: one.name))


def _is_named(engine: Engine, manifest: Mapping[str, Any], pods: Templates) -> bool:
    key, scheduler = engine.marks.queue_label, engine.scheduling.scheduler
    if key and mapping(mapping(job_in(manifest).get("metadata")).get("labels")).get(key):
        return True
    if scheduler and any(mapping(one.get("spec")).get("schedulerName") == scheduler for one in pods):
        return True
    return engine.groups is not None and engine.groups.is_named_by(manifest, pods)


def _two_engines(manifest: Mapping[str, Any], pods: Templates) -> Iterator[str]:
    named = _named(manifest, pods)
    placing = [one for one in named if one.admits is None]
    for quota in named:
        if quota.admits is not None:
            conflicts = (one.scheduling.conflict for one in placing)
            yield from (one.format(quota=quota.name) for one in conflicts if one)
    if len(placing) > 1:
        yield f"{' and '.join(one.name for one in placing)} would both schedule its pods; keep one of them"


def _schedulers(pods: Templates) -> Iterator[str]:
    names = {str(mapping(one.get("spec")).get("schedulerName") or "") for one in pods}
    # A launcher of an engine's own kind of job takes the scheduler from the job, not from its template.
    if len(names) > 1 and any(name not in DEFAULT_SCHEDULERS for name in names):
        told = " and ".join(sorted(name or "default-scheduler" for name in names))
        yield f"its pods name different schedulers ({told}): a gang needs one"


def _deadlocks(manifest: Mapping[str, Any]) -> Iterator[str]:
    spec = mapping(manifest.get("spec"))
    members = members_of(manifest)
    if members is None:
        return
    policy = mapping(mapping(spec.get("runPolicy")).get("schedulingPolicy"))
    least = policy.get("minAvailable")
    if (
        spec.get("launcherCreationPolicy") == "WaitForWorkersReady"
        and isinstance(least, int)
        and least >= members
    ):
        yield (
            f"WaitForWorkersReady creates the launcher last, but minAvailable {least} counts it: a deadlock;"
            f" use AtStartup or minAvailable {members - 1}"
        )
    elif isinstance(least, int) and least > members:
        yield f"minAvailable {least} is more than its {counted(members, 'pod')}: it would wait forever"
