"""Codes and texts by which clouds and owners of pools say no, as data: one table for what we asked ourselves
(reads, writes), and for what whoever makes the machines was told, in a status, a condition or an event.

Sources: EC2 error codes, EKS `Issue` and `Update` codes, Auto Scaling activity messages
(docs.aws.amazon.com); AKS error code reference (learn.microsoft.com azure-kubernetes/error-codes); GKE and
Compute Engine resource availability (docs.cloud.google.com); kubernetes/autoscaler
cluster-autoscaler/cloudprovider/gce, aws, azure; kubernetes-sigs/cluster-autoscaler pkg/clusterstate,
pkg/core/scaleup; aws/karpenter-provider-aws pkg/errors/errors.go.
"""

import re
from typing import NamedTuple

from cockpit.pools.owner import FailureClass


class _Words(NamedTuple):
    """For people; {who} is the cloud that was asked."""

    sentence: str
    remedy: str


class _Row(NamedTuple):
    """One class. `asked` are the words where we asked ourselves, `told` those where another was told; None
    where the class does not exist there."""

    kind: FailureClass
    pattern: str
    asked: _Words | None
    told: _Words | None = None


def _http(status: int) -> str:
    """The status of an answer, not the same number of nodes or cores."""
    return rf"^{status}\b|(?:code|status|error|http)\W{{0,3}}(?:code\W{{0,3}})?{status}\b"


# The first that fits is taken: what is said of the caller comes before what is said of the machines, what
# names a cause before what names an effect. A quota may come with status 403, so it is before permissions.
_ROWS = (
    _Row(
        FailureClass.CREDENTIALS,
        r"Expired|InvalidGrant|NoCredentials|CredentialRetrieval|TokenRetrieval|UnauthorizedSSO|SSOToken"
        r"|UnrecognizedClient|InvalidClientTokenId|SignatureDoesNotMatch|AuthFailure|az login|AADSTS"
        r"|gcloud auth|reauthentication|not have valid credentials|invalid_grant|Unauthenticated"
        r"|PartialCredentials|MetadataRetrieval|NoAuthToken|DefaultCredentials|NotAuthenticated",
        _Words(
            "{who} rejected the credentials of this host",
            "log in again (aws sso login, az login, gcloud auth login) and retry",
        ),
    ),
    _Row(
        FailureClass.CREDENTIALS,
        r"ExpiredToken|token .{0,60}expired|InvalidClientTokenId|SignatureDoesNotMatch|UnrecognizedClient"
        r"|AuthFailure\b(?!\.)|InvalidIdentityToken|WebIdentityErr|InvalidAuthenticationToken|AADSTS"
        r"|invalid_grant|NoCredential",
        None,
        _Words(
            "the cloud rejects the credentials of whoever makes the machines",
            "renew the credentials of that controller",
        ),
    ),
    _Row(
        FailureClass.SETUP,
        r"NoBoto3|NoProgram|NoRegion|ProfileNotFound|ConfigParse|UnknownEndpoint|NotJson|NoCluster|InvalidRegion"
        r"|arguments are required|required property|must be specified|unrecognized arguments"
        r"|misspelled or not recognized|CERTIFICATE_VERIFY|doesn't exist in cloud",
        _Words(
            "{who} cannot be asked as it is set up here",
            "see Configuration in the README: extra cloud, region, cluster, profile, commands",
        ),
    ),
    _Row(
        FailureClass.SETUP,
        r"(?:Launch|Terminate)Suspended",
        None,
        _Words(
            "a process of the auto scaling group is suspended, so machines do not come or go",
            "resume it (aws autoscaling resume-processes)",
        ),
    ),
    _Row(
        FailureClass.THROTTLED,
        r"Throttl|TooManyRequests|RequestLimitExceeded|SlowDown|rateLimitExceeded|Rate exceeded|"
        + _http(429)
        + r"|requests per (?:minute|second)",
        _Words("{who} throttles requests; nothing was changed", "retry in a minute"),
        _Words("the cloud throttles whoever makes the machines", "wait; it is tried again"),
    ),
    _Row(
        FailureClass.IN_PROGRESS,
        r"ResourceInUse|ScalingActivityInProgress|ResourceContention|not in Active State"
        r"|(?:operation|update|activity|scaling|upgrade)\b.{0,60}\bin progress"
        r"|OperationPreempted|EtagMismatch|is currently (?:upgrading|updating|scaling)|incompatible operation"
        r"|ConflictingOperation|another operation|in the process of|pending update"
        r"|mutually exclusive operations|canceled by a later operation|is currently \w+ing a node ?pool"
        r"|currently being \w+ed"
        r"|concurrent (?:request|update|operation)|IncorrectState",
        _Words("another change of this pool is under way at {who}", "wait until it ends, then retry"),
        _Words("another change of this pool is under way at the cloud", "wait; it is tried again"),
    ),
    _Row(
        FailureClass.OWNER_CONFLICT,
        r"autoscal\w+ (?:is )?enabled|enable.?auto.?scaling|autoscaler.?enabled|managed by",
        _Words("an autoscaler at {who} controls the size of this pool", "change its maximum instead"),
    ),
    _Row(
        FailureClass.QUOTA,
        r"InsufficientFreeAddresses|IP_SPACE_EXHAUSTED|IP space|SubnetIsFull|InsufficientSubnetSize"
        r"|enough free (?:IP )?addresses",
        _Words(
            "the subnet of the pool has no free addresses left",
            "free addresses, or give the pool a larger or another subnet",
        ),
        _Words(
            "the subnet of the pool has no free addresses left",
            "free addresses, or give the pool a larger or another subnet",
        ),
    ),
    _Row(
        FailureClass.QUOTA,
        r"quota|VcpuLimitExceeded|InstanceLimitExceeded|MaxSpotInstanceCount|MaxFleetCountExceeded"
        r"|more vCPU capacity than|LimitExceededException|Service ?Limit|\bLimitExceeded"
        r"|Max spot instance count|VolumeLimitExceeded|resource_limit_exceeded|allowed maximum of"
        r"|(?:server|droplet|account|subscription) limit"
        r"|maximum number of instances|capacity limit for your subscription",
        _Words(
            "a quota of the account at {who} is used up",
            "ask {who} for a higher quota, or free machines of that family",
        ),
        _Words(
            "a quota of the cloud account is used up",
            "ask the cloud for a higher quota, or free machines of that family",
        ),
    ),
    _Row(
        FailureClass.STOCKOUT,
        r"RESOURCE_POOL_EXHAUSTED|INSUFFICIENT_CAPACITY|Insufficient(?:Instance|Host|Reserved)?Capacity"
        r"|InsufficientReservedInstance|UnfulfillableCapacity|ReservationCapacityExceeded|RESERVATION_"
        r"(?!NOT_FOUND|INCOMPATIBLE)|out of (?:host )?(?:capacity|resources|stock|usage)"
        r"|unable to allocate resources"
        r"|NoStock|InstanceStock|sold out|resource_unavailable|insufficient-capacity|capacity-?not-?available"
        r"|not enough (?:capacity|resources)|no more \S+ (?:machine|instance|node|host)s|Resource ?Exhausted"
        r"|currently not available in"
        r"|AllocationFailed|Allocation failed|Overconstrained|SkuNotAvailable|VMSizeNotSupported|HeavyUsage"
        r"|stockout|not allowed in your subscription|currently unavailable in|requested Availability Zone"
        r"|configuration is currently not supported|No valid host|insufficient resources"
        r"|placeholder-cannot-be-fulfilled|cannot provision any more instances"
        r"|not (?:currently )?(?:have )?(?:sufficient|enough) \S+ ?capacity"
        r"|not (?:currently )?have (?:sufficient|enough)"
        r"|insufficient capacity|instance types were unavailable"
        r"|SpotMaxPriceTooLow|Spot request price|no Spot capacity",
        _Words("{who} has no machines of this type right now", "try another zone or machine type, or later"),
        _Words("the cloud has no machine of this type now", "try another zone or machine type, or later"),
    ),
    _Row(
        FailureClass.PERMISSION,
        r"AccessDenied|UnauthorizedOperation|Unauthori[sz]edException|AuthorizationFailed|NotAuthori[sz]ed"
        r"|not authori[sz]ed|PERMISSIONS?_(?:ERROR|DENIED)|Required .+ permission|IamLimitExceeded"
        r"|IAM ?Instance ?Profile|IamNodeRole|"
        + _http(403)
        + r"|Forbidden|InvalidKMSKey|Authentication Failure"
        r"|(?:do|does) not have permission|OptInRequired|DisallowedByPolicy|ScopeLocked"
        r"|explicit deny|service control policy|ReadOnlyDisabledSubscription"
        r"|not registered to use",
        _Words("{who} denies it", "ask for that right"),
        _Words(
            "the cloud denies it to whoever makes the machines",
            "give its cloud role the missing permission",
        ),
    ),
    _Row(
        FailureClass.STOCKOUT,
        r"Unsupported",  # EC2: of a type in a zone
        None,
        _Words("the cloud has no machine of this type now", "try another zone or machine type, or later"),
    ),
    _Row(
        FailureClass.GONE,
        r"ResourceNotFound|NodegroupNotFound|NoGroup|AutoScalingGroupNotFound|not found|NotFound"
        r"|No node ?(?:group|pool)|No cluster found|does not exist|AutoScalingGroup name not|" + _http(404),
        _Words(
            "{who} does not know this pool",
            "refresh and retry; check cluster, region and project in the configuration",
        ),
    ),
    _Row(
        FailureClass.LIMIT,
        r"above max|max(?:imum)? ?size|greater than the max|between the min|desired capacity|maxCount"
        r"|MaxNodeCount|must be less than or equal|out of range|max pods|maximum node|below min"
        r"|CountExceedMax|minimum capacity|exceeds the maximum|count is invalid",
        _Words(
            "the size is outside the bounds that {who} has for this pool",
            "raise the maximum first, or ask for fewer nodes",
        ),
    ),
    _Row(
        FailureClass.LIMIT,
        r"max node group size reached|max(?:imum)? total nodes|limits? (?:exceeded|reached)"
        r"|exceed(?:s|ed)? limit|NodePoolLimits|reached its limits?|maxNodesTotal"
        r"|group-max-size",
        None,
        _Words("a maximum is reached", "raise the maximum of the pool"),
    ),
    _Row(
        FailureClass.MISMATCH,
        r"untolerated taint|did not tolerate|didn't match Pod's node|incompatible with node ?pool"
        r"|NoCompatibleInstanceTypes",
        None,
        _Words(
            "machines of this pool would not suit the pods that wait",
            "compare their selector and tolerations with labels and taints of the pool",
        ),
    ),
    _Row(
        FailureClass.NO_GPUS,
        r"ResourceNotRegistered|requested but not registered"
        r"|expected resource .{1,60}didn't register",
        None,
        _Words(
            "the node is there and shows no GPU",
            "look at the pods of driver and device plugin on it",
        ),
    ),
    _Row(
        FailureClass.JOIN,
        r"NodeCreationFailure|failed to (?:register|join)|ClusterUnreachable|VMExtensionProvisioning"
        r"|VMExtensionError|processing extension|kubeadm join|join failed|never posted node status"
        r"|not joined|bootstrap(?:ping)? failed|became unhealthy|NodeNotFound"
        r"|not registered|RegistrationTimeout|BootstrapFailed"
        r"|nodes? (?:out of \d+ )?have registered|OutboundConnFail",
        _Words(
            "new machines start at {who} and do not join the cluster",
            "read the log of their boot: network, role and image of the nodes",
        ),
        _Words(
            "machines start and do not join the cluster",
            "read their boot log: network, role, image and join token of the nodes",
        ),
    ),
    _Row(
        FailureClass.TIMEOUT,
        r"NoAnswer|Time(?:d ?)?out|did not end within|EndpointConnection|ConnectionClosed|ConnectionError"
        r"|HTTPClientError|deadline exceeded",
        _Words("{who} did not answer in time", "check the network of this host and retry"),
        _Words("the machine did not come in time", "look at the machine in the cloud; it is tried again"),
    ),
)
_OTHER = _Row(
    FailureClass.OTHER,
    "",
    _Words("{who} did not do what was asked", "read its own words"),
    _Words("the machine was not made", "read what its owner says"),
)


class Classed(NamedTuple):
    """What a code and a text mean, with a sentence and a remedy for people. `said` are the words it was read
    from, the code where there are none."""

    kind: FailureClass
    sentence: str
    remedy: str
    said: str = ""

    @property
    def whole(self) -> str:
        """Sentence, remedy and the own words of whoever said no in one."""
        more = f" ({self.said})" if self.said else ""
        return f"{self.sentence}; {self.remedy}{more}"


def classed(code: str, said: str, *, who: str = "") -> Classed:
    """The class of a failure by its code and its text; OTHER where nobody knows them. `who` is the cloud that
    answered so to us, "" where it did to whoever makes the machines."""
    text = f"{code} {said}"
    for row in (*_ROWS, _OTHER):
        words = row.asked if who else row.told
        if words is not None and re.search(row.pattern, text, re.IGNORECASE):
            return Classed(
                row.kind, words.sentence.format(who=who), words.remedy.format(who=who), said or code
            )
    raise AssertionError("the last row fits everything")
