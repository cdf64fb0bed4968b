"""EKS managed node groups.

Sources: docs.aws.amazon.com/eks/latest/APIReference API_DescribeNodegroup, API_UpdateNodegroupConfig,
API_NodegroupScalingConfig, API_Issue (codes of `health.issues`), API_Update.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from cockpit.clouds.answer import (
    HEALTH,
    STATUS,
    UPDATE,
    PoolAnswer,
    count_of,
    finding,
    seconds_of,
    version_of,
)
from cockpit.clouds.auto_scaling import activities_of
from cockpit.clouds.aws import WHO, Aws
from cockpit.clouds.errors import OutsideError, words
from cockpit.model.pool import PoolObject
from cockpit.model.reach import Reach
from cockpit.model.record import Condition
from cockpit.sanitise import clean

API_VERSION = "eks.amazonaws.com/v1"
KIND = "NodeGroup"
_MOST_UPDATES = 30
"""Most updates of a node group that are read: AWS lists them in no order that it
documents."""
_OVER = ("Successful", "Failed", "Cancelled")


def read(aws: Aws, reach: Reach, now_seconds: float) -> PoolAnswer:
    """The node group as AWS tells it, the machines it launches, and why some do not come. Raises
    OutsideError."""
    if not reach.cluster:
        raise OutsideError(
            WHO, "NoCluster", "the name of the EKS cluster is not known: aws = { cluster = ... }"
        )
    group = aws.ask("eks", "describe_nodegroup", clusterName=reach.cluster, nodegroupName=reach.pool)[
        "nodegroup"
    ]
    scaling = group.get("scalingConfig") or {}
    sizes = tuple(count_of(scaling.get(key)) for key in ("desiredSize", "minSize", "maxSize"))
    status = clean(str(group.get("status") or ""), 40)
    conditions = [finding(STATUS, status, is_good=status == "ACTIVE")]
    conditions += map(_issue, (group.get("health") or {}).get("issues") or ())
    if status == "UPDATING":
        conditions += _updates(aws, reach)
    found = PoolObject(
        uid=clean(str(group.get("nodegroupArn") or reach.path)),
        name=reach.pool,
        resource_version=version_of(*sizes),
        created_seconds=seconds_of(group.get("createdAt")),
        api_version=API_VERSION,
        kind=KIND,
        resource_path=f"eks/{reach.region}/{reach.cluster}",
        replicas=sizes[0],
        min_replicas=sizes[1],
        max_replicas=sizes[2],
        instance_type=clean(str((group.get("instanceTypes") or [""])[0])),
        read_seconds=now_seconds,
        reach=reach,
    )
    names = [str(item.get("name")) for item in (group.get("resources") or {}).get("autoScalingGroups") or ()]
    failed, machines = activities_of(aws, names, found)
    return PoolAnswer((_with(found, (*conditions, *failed)),), machines)


def _with(found: PoolObject, conditions: tuple[Condition, ...]) -> PoolObject:
    return msgspec.structs.replace(found, conditions=conditions)


def _issue(issue: Mapping[str, Any]) -> Condition:
    return finding(
        HEALTH, clean(str(issue.get("code") or "Unknown"), 80), words(str(issue.get("message") or ""))
    )


def _updates(aws: Aws, reach: Reach) -> list[Condition]:
    """The newest change under way, or how the last one failed; nothing where AWS does not let us look."""
    named = {"name": reach.cluster, "nodegroupName": reach.pool}
    try:
        ids = list(aws.pages("eks", "list_updates", "updateIds", **named))[:_MOST_UPDATES]
        updates = [aws.ask("eks", "describe_update", updateId=item, **named)["update"] for item in ids]
    except OutsideError:
        return []
    updates.sort(key=lambda one: seconds_of(one.get("createdAt")) or 0.0)
    return [_update(updates[-1])] if updates else []


def _update(update: Mapping[str, Any]) -> Condition:
    status = clean(str(update.get("status") or ""), 40)
    errors = "; ".join(
        f"{item.get('errorCode') or ''}: {item.get('errorMessage') or ''}"
        for item in update.get("errors") or ()
    )
    return finding(
        UPDATE,
        status,
        words(errors or str(update.get("id") or "")),
        seconds_of(update.get("createdAt")),
        is_good=status not in ("Failed", "Cancelled"),
    )
