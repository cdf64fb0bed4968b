"""Codes and texts by which clouds say that there is no machine, as data: class, what it means, what to do.

They come through whoever asked the cloud, in a status, a condition or an event.

Sources: kubernetes/autoscaler cluster-autoscaler/cloudprovider/gce autoscaling_gce_client.go,
aws/aws_cloud_provider.go, azure/azure_scale_set_instance_cache.go; kubernetes-sigs/cluster-autoscaler
pkg/clusterstate, pkg/core/scaleup; aws/karpenter-provider-aws pkg/errors/errors.go; learn.microsoft.com
azure-kubernetes/error-codes; docs.cloud.google.com troubleshooting-resource-availability.
"""

import re
from typing import NamedTuple

from cockpit.pools.owner import FailureClass


class _Row(NamedTuple):
    kind: FailureClass
    words: re.Pattern[str]
    sentence: str
    remedy: str


def _row(kind: FailureClass, words: str, sentence: str, remedy: str) -> _Row:
    return _Row(kind, re.compile(words, re.IGNORECASE), sentence, remedy)


# The first that fits is taken: what names a cause comes before what names an effect.
_ROWS = (
    _row(
        FailureClass.PERMISSION,
        r"PERMISSIONS?_(?:ERROR|DENIED)|UnauthorizedOperation|AccessDenied|AuthorizationFailed|not authorized"
        r"|Forbidden|IamInstanceProfile",
        "the cloud denies it to whoever makes the machines",
        "give its cloud role the missing permission",
    ),
    _row(
        FailureClass.QUOTA,
        r"quota|VcpuLimitExceeded|MaxSpotInstanceCountExceeded|MaxFleetCountExceeded|InstanceLimitExceeded"
        r"|IP_SPACE_EXHAUSTED|InsufficientFreeAddresses",
        "a quota of the cloud account is used up",
        "ask the cloud for a higher quota, or free machines of that family",
    ),
    _row(
        FailureClass.STOCKOUT,
        r"RESOURCE_POOL_EXHAUSTED|INSUFFICIENT_CAPACITY|Insufficient(?:Instance|Host|Reserved)?Capacity"
        r"|UnfulfillableCapacity|ReservationCapacityExceeded|RESERVATION_|ZonalAllocationFailed|AllocationFailed"
        r"|OverconstrainedAllocation|SkuNotAvailable|HeavyUsage|placeholder-cannot-be-fulfilled|Unsupported"
        r"|cannot provision any more instances|not have (?:sufficient|enough)|insufficient capacity"
        r"|instance types were unavailable|stockout",
        "the cloud has no machine of this type now",
        "try another zone or machine type, or later",
    ),
    _row(
        FailureClass.LIMIT,
        r"max node group size reached|max(?:imum)? total nodes|limits? (?:exceeded|reached)"
        r"|exceed(?:s|ed)? limit|NodePoolLimits",
        "a maximum is reached",
        "raise the maximum of the pool",
    ),
    _row(
        FailureClass.MISMATCH,
        r"untolerated taint|did not tolerate|didn't match Pod's node|incompatible with node ?pool"
        r"|NoCompatibleInstanceTypes",
        "machines of this pool would not suit the pods that wait",
        "compare their selector and tolerations with labels and taints of the pool",
    ),
    _row(
        FailureClass.JOIN,
        r"failed to (?:register|join)|NodeNotFound|not registered|RegistrationTimeout|BootstrapFailed",
        "machines start and do not join the cluster",
        "read their boot log: network, role, image and join token of the nodes",
    ),
    _row(
        FailureClass.TIMEOUT,
        r"time(?:d )?out|LaunchTimeout|deadline exceeded",
        "the machine did not come in time",
        "look at the machine in the cloud; it is tried again",
    ),
)
_OTHER = _row(FailureClass.OTHER, "", "the machine was not made", "read what its owner says")


class Classed(NamedTuple):
    """What a code and a text mean, with a sentence and a remedy for people."""

    kind: FailureClass
    sentence: str
    remedy: str


def classed(code: str, said: str) -> Classed:
    """The class of a failure by its code and its text; OTHER where nobody knows them."""
    text = f"{code} {said}"
    row = next((one for one in _ROWS if one.words.search(text)), _OTHER)
    return Classed(row.kind, row.sentence, row.remedy)
