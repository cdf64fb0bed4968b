"""Auto scaling groups of AWS, and what they say of the machines that they launch.

Sources: docs.aws.amazon.com/autoscaling/ec2/APIReference API_AutoScalingGroup, API_Activity (StatusCode),
API_SetDesiredCapacity, API_TerminateInstanceInAutoScalingGroup.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from cockpit.clouds.answer import LAUNCH, STATUS, UNITS, PoolAnswer, count_of, finding, seconds_of, version_of
from cockpit.clouds.aws import WHO, Aws
from cockpit.clouds.errors import OutsideError, words
from cockpit.model.pool import Machine, MachineStage, PoolObject
from cockpit.model.reach import Reach
from cockpit.model.record import Condition
from cockpit.sanitise import clean

API_VERSION = "autoscaling.amazonaws.com/v1"
KIND = "AutoScalingGroup"
NODE_GROUP_TAG = "eks:nodegroup-name"
_AT_ONCE = 50  # instances that one question may name
_ACTIVITIES = 50
_INSTANCE = re.compile(r"\bi-[0-9a-f]{8,17}\b")
_STAGES = {
    "Successful": MachineStage.LAUNCHED,
    "Failed": MachineStage.FAILED,
    "Cancelled": MachineStage.FAILED,
}


def read(aws: Aws, reach: Reach, now_seconds: float) -> PoolAnswer:
    """The groups that the machines of `reach.instances` are in, or the one named. Raises OutsideError."""
    names = [reach.pool] if reach.pool else _groups_of(aws, reach.instances)
    if not names:
        raise OutsideError(WHO, "NoGroup", "these machines belong to no auto scaling group")
    groups = list(
        aws.pages(
            "autoscaling", "describe_auto_scaling_groups", "AutoScalingGroups", AutoScalingGroupNames=names
        )
    )
    if not groups:
        raise OutsideError(
            WHO, "ResourceNotFoundException", f"there is no auto scaling group {', '.join(names)}"
        )
    pools: list[PoolObject] = []
    machines: list[Machine] = []
    for group in groups:
        found = _pool(group, reach, now_seconds)
        failed, coming = activities_of(aws, [found.name], found)
        pools.append(msgspec.structs.replace(found, conditions=(*found.conditions, *failed)))
        machines += coming
    return PoolAnswer(tuple(pools), tuple(machines))


def _groups_of(aws: Aws, instances: Sequence[str]) -> list[str]:
    names: dict[str, None] = {}
    for at in range(0, len(instances), _AT_ONCE):
        for page in aws.pages(
            "autoscaling",
            "describe_auto_scaling_instances",
            "AutoScalingInstances",
            InstanceIds=list(instances[at : at + _AT_ONCE]),
        ):
            names[str(page.get("AutoScalingGroupName"))] = None
    return list(names)


def _pool(group: Mapping[str, Any], reach: Reach, now_seconds: float) -> PoolObject:
    name = clean(str(group.get("AutoScalingGroupName") or ""), 255)
    sizes = tuple(count_of(group.get(key)) for key in ("DesiredCapacity", "MinSize", "MaxSize"))
    members = [item for item in group.get("Instances") or () if isinstance(item, Mapping)]
    tags = {str(item.get("Key")): str(item.get("Value")) for item in group.get("Tags") or ()}
    status = clean(str(group.get("Status") or ""), 40)  # only while it is being deleted
    suspended = [clean(str(item.get("ProcessName")), 40) for item in group.get("SuspendedProcesses") or ()]
    conditions = [finding(STATUS, status)] if status else []
    conditions += [
        finding(STATUS, f"{item}Suspended", f"its {item} process is suspended")
        for item in ("Launch", "Terminate")
        if item in suspended
    ]
    units = _units(group)
    if units:
        conditions.append(finding(UNITS, "NotMachines", units, is_good=True))
    own = Reach(
        service="autoscaling",
        pool=name,
        region=reach.region,
        profile=reach.profile,
        instances=tuple(sorted(str(member.get("InstanceId")) for member in members)),
    )
    return PoolObject(
        uid=clean(str(group.get("AutoScalingGroupARN") or own.path)),
        name=name,
        resource_version=version_of(*sizes),
        created_seconds=seconds_of(group.get("CreatedTime")),
        api_version=API_VERSION,
        kind=KIND,
        resource_path=f"autoscaling/{reach.region}",
        replicas=sizes[0],
        min_replicas=sizes[1],
        max_replicas=sizes[2],
        status_replicas=sum(member.get("LifecycleState") == "InService" for member in members),
        labels=tuple((key, clean(tags[key])) for key in (NODE_GROUP_TAG,) if key in tags),
        instance_type=clean(str((*members, *_overrides(group), {})[0].get("InstanceType") or "")),
        conditions=tuple(conditions),
        read_seconds=now_seconds,
        reach=own,
    )


def _overrides(group: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Types of machines that a group of mixed instances may have, those that it prefers first."""
    template = (group.get("MixedInstancesPolicy") or {}).get("LaunchTemplate") or {}
    return [item for item in template.get("Overrides") or () if isinstance(item, Mapping)]


def _units(group: Mapping[str, Any]) -> str:
    """In what its capacity is counted, "" where that is machines."""
    kind = str(group.get("DesiredCapacityType") or "units")
    if kind != "units":
        return f"its capacity is counted in {clean(kind, 40)}"
    if any(str(item.get("WeightedCapacity") or "1") != "1" for item in _overrides(group)):
        return "its capacity is counted in weights of its machine types"
    return ""


# ---- machines on their way


def activities_of(
    aws: Aws, groups: Iterable[str], found: PoolObject
) -> tuple[tuple[Condition, ...], tuple[Machine, ...]]:
    """Launches that failed since the last one that came, newest first, and the machines that were launched.

    Nothing where AWS does not let us look, or the group is not there: the pool itself was read.
    """
    conditions: list[Condition] = []
    machines: list[Machine] = []
    for name in groups:
        try:
            answer = aws.ask(
                "autoscaling",
                "describe_scaling_activities",
                AutoScalingGroupName=name,
                MaxRecords=_ACTIVITIES,
            )
        except OutsideError as error:
            conditions.append(finding("Activities", error.code, error.message))
            continue
        launches = [item for item in answer.get("Activities") or () if _is_launch(item)]
        launches.sort(key=lambda one: seconds_of(one.get("StartTime")) or 0.0, reverse=True)
        # a group that makes machines in one zone says nothing of another group in another
        conditions += _failures(launches)
        machines += [_machine(item, found) for item in launches]
    conditions.sort(key=lambda one: one.changed_seconds or 0.0, reverse=True)
    machines.sort(key=lambda one: one.created_seconds or 0.0, reverse=True)
    return tuple(conditions), tuple(machines)


def _failures(launches: Iterable[Mapping[str, Any]]) -> Iterator[Condition]:
    """Those since the last machine that came; the newest activity is the first."""
    for item in launches:
        stage = _STAGES.get(str(item.get("StatusCode")), MachineStage.LAUNCHING)
        if stage is MachineStage.LAUNCHED:
            return
        if stage is MachineStage.FAILED:
            yield _failure(item)


def _is_launch(activity: Mapping[str, Any]) -> bool:
    """Of a machine that becomes a node; one that goes to the warm pool waits there, stopped."""
    said = str(activity.get("Description") or "")
    return said.startswith("Launching") and "into warm pool" not in said


def _failure(activity: Mapping[str, Any]) -> Condition:
    said = words(str(activity.get("StatusMessage") or "no reason given"))
    return finding(
        LAUNCH, clean(str(activity.get("StatusCode")), 40), said, seconds_of(activity.get("StartTime"))
    )


def _machine(activity: Mapping[str, Any], found: PoolObject) -> Machine:
    instance = _INSTANCE.search(str(activity.get("Description") or ""))
    zone = _zone(activity)
    stage = _STAGES.get(str(activity.get("StatusCode")), MachineStage.LAUNCHING)
    name = clean(str(activity.get("ActivityId") or ""), 80)
    launched = seconds_of(activity.get("EndTime")) if stage is MachineStage.LAUNCHED else None
    return Machine(
        uid=f"{found.uid}/{name}",
        name=instance.group() if instance else name,
        created_seconds=seconds_of(activity.get("StartTime")),
        api_version=API_VERSION,
        kind="Activity",
        resource_path=f"autoscaling/{found.name}",
        pool_kind=found.kind,
        pool_key=found.key,
        provider_id=f"aws:///{zone}/{instance.group()}" if instance and zone else "",
        zone=zone,
        stage=stage,
        launching_seconds=seconds_of(activity.get("StartTime")),
        launched_seconds=launched,
        failure=words(str(activity.get("StatusMessage") or "")) if stage is MachineStage.FAILED else "",
    )


def _zone(activity: Mapping[str, Any]) -> str:
    try:
        details = json.loads(str(activity.get("Details") or "{}"))
    except (ValueError, RecursionError):
        return ""
    return clean(str(details.get("Availability Zone") or ""), 40) if isinstance(details, dict) else ""
