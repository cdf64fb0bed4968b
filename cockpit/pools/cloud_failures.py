"""What clouds and their tools say no with, sorted by what is to be done: one table for reads, writes and
reports.

Sources: EC2 error codes, EKS `Issue` and `Update` codes, Auto Scaling activity messages
(docs.aws.amazon.com); AKS error code reference
(learn.microsoft.com/troubleshoot/azure/azure-kubernetes/error-codes); GKE and Compute Engine resource
availability (docs.cloud.google.com); kubernetes/autoscaler cluster-autoscaler/cloudprovider/gce for the
folded codes.
"""

import re
from dataclasses import dataclass

from cockpit.pools.owner import FailureClass


@dataclass(frozen=True, slots=True)
class _Row:
    """One class of failure: `words` is looked for in code and text, `sentence` may name {who}."""

    kind: FailureClass
    words: re.Pattern[str]
    sentence: str
    remedy: str


def _row(kind: FailureClass, words: str, sentence: str, remedy: str) -> _Row:
    return _Row(kind, re.compile(words), sentence, remedy)


# The first row that fits is taken: what is said of the caller comes before what is said of the machines.
_TABLE = (
    _row(
        FailureClass.CREDENTIALS,
        r"(?i)Expired|InvalidGrant|NoCredentials|CredentialRetrieval|TokenRetrieval|UnauthorizedSSO|SSOToken"
        r"|UnrecognizedClient|InvalidClientTokenId|SignatureDoesNotMatch|AuthFailure|az login"
        r"|AADSTS|gcloud auth"
        r"|reauthentication|not have valid credentials|invalid_grant|Unauthenticated",
        "{who} rejected the credentials of this host",
        "log in again (aws sso login, az login, gcloud auth login) and retry",
    ),
    _row(
        FailureClass.SETUP,
        r"NoBoto3|NoProgram|NoRegion|ProfileNotFound|ConfigParse|UnknownEndpoint|NotJson|NoCluster|InvalidRegion"
        r"|required: |unrecognized arguments|misspelled or not recognized",
        "{who} cannot be asked as it is set up here",
        "see Configuration in the README: extra cloud, region, cluster, profile, commands",
    ),
    _row(
        FailureClass.THROTTLED,
        r"(?i)Throttl|TooManyRequests|RequestLimitExceeded|SlowDown|rateLimitExceeded|Rate exceeded|\b429\b",
        "{who} throttles requests; nothing was changed",
        "retry in a minute",
    ),
    _row(
        FailureClass.IN_PROGRESS,
        r"(?i)ResourceInUse|ScalingActivityInProgress|ResourceContention|not in Active State|in progress"
        r"|OperationPreempted|EtagMismatch|is currently (?:upgrading|updating|scaling)|incompatible operation"
        r"|ConflictingOperation|another operation",
        "another change of this pool is under way at {who}",
        "wait until it ends, then retry",
    ),
    _row(
        FailureClass.OWNER_CONFLICT,
        r"(?i)autoscal\w+ (?:is )?enabled|enable.?auto.?scaling|autoscaler.?enabled|managed by",
        "an autoscaler at {who} controls the size of this pool",
        "change its maximum instead",
    ),
    _row(
        FailureClass.QUOTA,
        r"(?i)quota|VcpuLimitExceeded|InstanceLimitExceeded|MaxSpotInstanceCount|more vCPU capacity than"
        r"|LimitExceededException|ServiceLimit|InsufficientFreeAddresses|IP_SPACE_EXHAUSTED|SubnetIsFull",
        "a quota of the account at {who} is used up",
        "ask {who} for a higher quota, or free machines of that family",
    ),
    _row(
        FailureClass.STOCKOUT,
        r"(?i)InsufficientInstanceCapacity|InsufficientHostCapacity|InsufficientReservedInstance"
        r"|UnfulfillableCapacity"
        r"|not have sufficient|RESOURCE_POOL_EXHAUSTED|AllocationFailed|OverconstrainedAllocation"
        r"|SkuNotAvailable|HeavyUsage|STOCKOUT|not have enough resources|placeholder-cannot-be-fulfilled"
        r"|SpotMaxPriceTooLow|no Spot capacity",
        "{who} has no machines of this type right now",
        "try another zone or machine type, or later",
    ),
    _row(
        FailureClass.PERMISSION,
        r"(?i)AccessDenied|UnauthorizedOperation|Unauthori[sz]edException|AuthorizationFailed|NotAuthori[sz]ed"
        r"|not authori[sz]ed|PERMISSION_DENIED|Required .+ permission|IamLimitExceeded"
        r"|IamInstanceProfile|IamNodeRole"
        r"|\b403\b|Forbidden|PERMISSIONS_ERROR|InvalidKMSKey",
        "{who} denies it",
        "ask for that right",
    ),
    _row(
        FailureClass.GONE,
        r"(?i)ResourceNotFound|NodegroupNotFound|NoGroup|AutoScalingGroupNotFound|not found"
        r"|NotFound|No node group"
        r"|No cluster found|does not exist|\b404\b|AutoScalingGroup name not",
        "{who} does not know this pool",
        "refresh and retry; check cluster, region and project in the configuration",
    ),
    _row(
        FailureClass.LIMIT,
        r"(?i)above max|max(?:imum)? ?size|greater than the max|between the min|desired capacity"
        r"|maxCount|MaxNodeCount"
        r"|must be less than or equal|out of range|max pods|maximum node",
        "the size is outside the bounds that {who} has for this pool",
        "raise the maximum first, or ask for fewer nodes",
    ),
    _row(
        FailureClass.JOIN,
        r"(?i)NodeCreationFailure|failed to join|ClusterUnreachable|failed to register"
        r"|VMExtensionProvisioning"
        r"|VMExtensionError|became unhealthy",
        "new machines start at {who} and do not join the cluster",
        "read the log of their boot: network, role and image of the nodes",
    ),
    _row(
        FailureClass.TIMEOUT,
        r"(?i)NoAnswer|Timeout|timed out|did not end within|EndpointConnection|ConnectionClosed"
        r"|ConnectionError"
        r"|HTTPClientError|RequestTimeout|OperationTimeout",
        "{who} did not answer in time",
        "check the network of this host and retry",
    ),
)
_OTHER = _row(FailureClass.OTHER, "", "{who} did not do what was asked", "read its own words")


@dataclass(frozen=True, slots=True)
class CloudFailure:
    """A failure by its class, with words for people. `said` are those of the cloud, "" where it has none."""

    kind: FailureClass
    sentence: str
    remedy: str
    said: str

    @property
    def whole(self) -> str:
        """Sentence, remedy and the cloud's own words in one."""
        more = f" ({self.said})" if self.said else ""
        return f"{self.sentence}; {self.remedy}{more}"


def cloud_failure(who: str, code: str, said: str) -> CloudFailure:
    """What is behind a code and a text of a cloud or of its tool; FailureClass.OTHER where nobody knows."""
    text = f"{code} {said}"
    row = next((one for one in _TABLE if one.words.search(text)), _OTHER)
    return CloudFailure(row.kind, row.sentence.format(who=who), row.remedy.format(who=who), said or code)
