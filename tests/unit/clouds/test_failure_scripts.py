"""Changes outside the cluster that go wrong: each class of failure by what the cloud says, and what a
person reads.

Every script goes the whole way: a plan, its audit lines, the sender, a cloud that answers by the script.
"""

from collections.abc import Sequence

import pytest
from botocore.exceptions import (
    ConnectTimeoutError,
    NoCredentialsError,
    NoRegionError,
    ProfileNotFound,
    ReadTimeoutError,
    TokenRetrievalError,
)

from cockpit.actions.execute.dry_run import rehearse
from cockpit.actions.execute.execute_plan import carry_out, outside_perform
from cockpit.clock import ManualClock
from cockpit.clouds.errors import OutsideError
from cockpit.clouds.reading import Ways
from cockpit.model.plan import Outcome, Plan
from cockpit.model.pool import PoolObject
from cockpit.pools.failure_classes import classed
from cockpit.pools.owner import FailureClass
from tests.unit.actions.builders import Line, Lines
from tests.unit.clouds.scripted import (
    ARN,
    NO_ACTIVITIES,
    Programs,
    ScriptedAws,
    Step,
    aks_pool,
    eks_pool,
    group,
    refusal,
)
from tests.unit.pools.builders import able

UPDATED = {"update": {"id": "5f2c", "status": "InProgress"}}


def plan_of(found: PoolObject, replicas: int = 4) -> Plan:
    """A resize of that pool."""
    calls = able(found).resize_calls(found, replicas)
    return Plan(verb="scale", title="Grow pool gpu", done=f"Growing pool gpu to {replicas}", calls=calls)


async def carry(plan: Plan, ways: Ways, lines: Lines | None = None, line: Line | None = None) -> Outcome:
    """Carry the plan out on that cloud."""
    return await carry_out(
        plan,
        line or Line(),
        lines if lines is not None else Lines(),
        ManualClock(),
        perform=outside_perform(ways=ways),
        new_id=lambda: "id1",
    )


def aws(update: Sequence[Step], groups: Sequence[Step] = ()) -> ScriptedAws:
    """An AWS whose node group is as it was shown, and that answers to the update by the script."""
    return ScriptedAws(
        describe_nodegroup=groups or (group(2),),
        describe_scaling_activities=(NO_ACTIVITIES,),
        update_nodegroup_config=update,
    )


THROTTLED = refusal("ThrottlingException", "Rate exceeded", 429)
LOST = ReadTimeoutError(endpoint_url="https://eks.eu-west-1.amazonaws.com")
SCRIPTS: tuple[tuple[str, FailureClass, ScriptedAws, str, str], ...] = (
    (
        "another update runs",
        FailureClass.IN_PROGRESS,
        aws(
            [
                refusal(
                    "ResourceInUseException",
                    "Nodegroup cannot be updated as it is currently not in Active State",
                )
            ]
        ),
        "refused",
        "nodegroup gpu: another change of this pool is under way at AWS; wait until it ends, then retry"
        " (Nodegroup cannot be updated as it is currently not in Active State)",
    ),
    (
        "a quota of the account",
        FailureClass.QUOTA,
        aws(
            [
                refusal(
                    "LimitExceededException",
                    "You have requested more vCPU capacity than your current vCPU limit of 0",
                )
            ]
        ),
        "refused",
        "nodegroup gpu: a quota of the account at AWS is used up; ask AWS for a higher quota, or free machines of that"
        " family (You have requested more vCPU capacity than your current vCPU limit of 0)",
    ),
    (
        "the bounds of AWS",
        FailureClass.LIMIT,
        aws([refusal("InvalidParameterException", "desired capacity 4 can't be greater than max size 3")]),
        "refused",
        "nodegroup gpu: the size is outside the bounds that AWS has for this pool; raise the maximum"
        " first, or ask for"
        " fewer nodes (desired capacity 4 can't be greater than max size 3)",
    ),
    (
        "a right is missing",
        FailureClass.PERMISSION,
        aws(
            [
                refusal(
                    "AccessDeniedException",
                    "User: arn:aws:iam::1:user/ann is not authorized to perform: eks:UpdateNodegroupConfig",
                    403,
                )
            ]
        ),
        "refused",
        "nodegroup gpu: AWS denies it; ask for that right (User: arn:aws:iam::1:user/ann is not authorized to perform:"
        " eks:UpdateNodegroupConfig)",
    ),
    (
        "throttled for good",
        FailureClass.THROTTLED,
        aws([THROTTLED]),
        "refused",
        "nodegroup gpu: AWS throttles requests; nothing was changed; retry in a minute (Rate exceeded)",
    ),
    (
        "credentials expired",
        FailureClass.CREDENTIALS,
        aws([refusal("ExpiredTokenException", "The security token included in the request is expired", 403)]),
        "refused",
        "nodegroup gpu: AWS rejected the credentials of this host; log in again (aws sso login, az login, gcloud auth"
        " login) and retry (The security token included in the request is expired)",
    ),
    (
        "no credentials at all",
        FailureClass.CREDENTIALS,
        aws([UPDATED], [NoCredentialsError()]),
        "refused",
        "nodegroup gpu: AWS rejected the credentials of this host; log in again (aws sso login, az login, gcloud auth"
        " login) and retry (Unable to locate credentials)",
    ),
    (
        "a session of SSO is over",
        FailureClass.CREDENTIALS,
        aws(
            [UPDATED], [TokenRetrievalError(provider="sso", error_msg="Token has expired and refresh failed")]
        ),
        "refused",
        "nodegroup gpu: AWS rejected the credentials of this host; log in again (aws sso login, az login, gcloud auth"
        " login) and retry (Error when retrieving token from sso: Token has expired and refresh failed)",
    ),
    (
        "no region",
        FailureClass.SETUP,
        aws([UPDATED], [NoRegionError()]),
        "refused",
        "nodegroup gpu: AWS cannot be asked as it is set up here; see docs/pools.md: extra cloud, region,"
        " cluster, profile, commands (You must specify a region.)",
    ),
    (
        "a profile that nobody knows",
        FailureClass.SETUP,
        aws([UPDATED], [ProfileNotFound(profile="ops")]),
        "refused",
        "nodegroup gpu: AWS cannot be asked as it is set up here; see docs/pools.md: extra cloud, region,"
        " cluster, profile, commands (The config profile (ops) could not be found)",
    ),
    (
        "vanished between preview and yes",
        FailureClass.GONE,
        aws([UPDATED], [refusal("ResourceNotFoundException", "No node group found for name: gpu.", 404)]),
        "refused",
        "nodegroup gpu: AWS does not know this pool; refresh and retry; check cluster, region and project in the"
        " configuration (No node group found for name: gpu.)",
    ),
    (
        "vanished between the look and the update",
        FailureClass.GONE,
        aws([refusal("ResourceNotFoundException", "No node group found for name: gpu.", 404)]),
        "refused",
        "nodegroup gpu: AWS does not know this pool; refresh and retry; check cluster, region and project in the"
        " configuration (No node group found for name: gpu.)",
    ),
    (
        "the maximum was lowered since",
        FailureClass.OTHER,
        aws([UPDATED], [group(2, maximum=3)]),
        "refused",
        "nodegroup gpu was modified in the meantime; refresh and retry",
    ),
    (
        "recreated since",
        FailureClass.OTHER,
        aws([UPDATED], [group(2, arn=f"{ARN}-other")]),
        "refused",
        "nodegroup gpu was deleted and recreated; refresh and retry",
    ),
    (
        "no way to AWS",
        FailureClass.TIMEOUT,
        aws([UPDATED], [ConnectTimeoutError(endpoint_url="https://eks.eu-west-1.amazonaws.com")]),
        "refused",
        "nodegroup gpu: AWS did not answer in time; check the network of this host and retry (Connect timeout on"
        ' endpoint URL: "https://eks.eu-west-1.amazonaws.com")',
    ),
    (
        "the answer is lost, and nothing was done",
        FailureClass.TIMEOUT,
        aws([LOST], [group(2)]),
        "unknown",
        'nodegroup gpu: unknown: AWS: Read timeout on endpoint URL: "https://eks.eu-west-1.amazonaws.com"; nodegroup gpu does'
        " not show the change: refresh and retry",
    ),
    (
        "the answer is lost, and so is the next one",
        FailureClass.TIMEOUT,
        aws([LOST], [group(2), LOST]),
        "unknown",
        'nodegroup gpu: unknown: AWS: Read timeout on endpoint URL: "https://eks.eu-west-1.amazonaws.com"; cannot tell whether'
        " nodegroup gpu was changed: check before you retry",
    ),
    (
        "an error of AWS itself",
        FailureClass.OTHER,
        aws([refusal("ServerException", "Internal failure", 500)]),
        "unknown",
        "nodegroup gpu: unknown: AWS: Internal failure; nodegroup gpu does not show the change: refresh and retry",
    ),
)


@pytest.mark.parametrize(
    ("script", "state", "sentence"), [one[2:] for one in SCRIPTS], ids=[one[0] for one in SCRIPTS]
)
async def test_what_goes_wrong_is_told_with_its_remedy(
    script: ScriptedAws, state: str, sentence: str
) -> None:
    lines = Lines()
    outcome = await carry(plan_of(eks_pool()), script.ways, lines)
    assert (outcome.state, outcome.sentence) == (state, sentence)
    assert [one.step for one in lines.entries] == ["intent", "outcome"]
    assert lines.entries[1].sentence == sentence


@pytest.mark.parametrize("script", SCRIPTS, ids=[one[0] for one in SCRIPTS])
async def test_the_audit_line_has_the_class(script: tuple[str, FailureClass, ScriptedAws, str, str]) -> None:
    lines = Lines()
    outcome = await carry(plan_of(eks_pool()), script[2].ways, lines)
    if outcome.state == "refused" and script[1] is not FailureClass.OTHER:
        assert lines.entries[1].reason == script[1].value


SAID: tuple[tuple[str, str, str, FailureClass], ...] = (
    (
        "AWS",
        "AsgInstanceLaunchFailures",
        "Could not launch On-Demand Instances. InsufficientInstanceCapacity - We currently do not have sufficient p4d.24xlarge capacity in the Availability Zone you requested (eu-west-1a).",
        FailureClass.STOCKOUT,
    ),
    (
        "AWS",
        "Failed",
        "You have reached your quota of 96 vCPUs for P instances. Launching EC2 instance failed.",
        FailureClass.QUOTA,
    ),
    ("AWS", "NodeCreationFailure", "Instances failed to join the kubernetes cluster", FailureClass.JOIN),
    (
        "AWS",
        "ScalingActivityInProgressFault",
        "Scaling activity is in progress for group h100",
        FailureClass.IN_PROGRESS,
    ),
    ("AWS", "ValidationError", "AutoScalingGroup name not found - no such group: h100", FailureClass.GONE),
    (
        "AWS",
        "ValidationError",
        "New SetDesiredCapacity value 12 is above max value 10 for the AutoScalingGroup.",
        FailureClass.LIMIT,
    ),
    (
        "AKS",
        "Exit1",
        "ERROR: (QuotaExceeded) Operation could not be completed as it results in exceeding approved Total Regional Cores quota.",
        FailureClass.QUOTA,
    ),
    (
        "AKS",
        "Exit1",
        "ERROR: (ErrCode_InsufficientVCPUQuota) Insufficient vcpu quota requested 96, remaining 0 for family standardNDH100v5Family",
        FailureClass.QUOTA,
    ),
    (
        "AKS",
        "Exit1",
        "ERROR: (ZonalAllocationFailed) Allocation failed. We do not have sufficient capacity for the requested VM size in this zone.",
        FailureClass.STOCKOUT,
    ),
    (
        "AKS",
        "Exit1",
        "ERROR: (SkuNotAvailable) The requested VM size Standard_ND96isr_H100_v5 is not available",
        FailureClass.STOCKOUT,
    ),
    (
        "AKS",
        "Exit1",
        "ERROR: (CannotScaleClusterAutoscalerEnabledNodePool) This request was rejected",
        FailureClass.OWNER_CONFLICT,
    ),
    (
        "AKS",
        "Exit1",
        "ERROR: (OperationNotAllowed) Operation is not allowed: another operation (Upgrading) is in progress",
        FailureClass.IN_PROGRESS,
    ),
    (
        "AKS",
        "Exit1",
        "ERROR: (AuthorizationFailed) The client 'ann' does not have authorization to perform action 'Microsoft.ContainerService/managedClusters/agentPools/write'",
        FailureClass.PERMISSION,
    ),
    (
        "AKS",
        "Exit1",
        "ERROR: AADSTS700082: The refresh token has expired due to inactivity.",
        FailureClass.CREDENTIALS,
    ),
    ("AKS", "Exit1", "ERROR: Please run 'az login' to setup account.", FailureClass.CREDENTIALS),
    ("AKS", "Exit3", "ERROR: (ResourceNotFound) The Resource was not found.", FailureClass.GONE),
    (
        "GKE",
        "Exit1",
        'ERROR: (gcloud.container.clusters.resize) ResponseError: code=403, message=Required "container.clusters.update" permission(s) for "projects/p".',
        FailureClass.PERMISSION,
    ),
    (
        "GKE",
        "Exit1",
        "ERROR: (gcloud.container.clusters.resize) ResponseError: code=400, message=Operation operation-17 is currently upgrading cluster train.",
        FailureClass.IN_PROGRESS,
    ),
    (
        "GKE",
        "RUNNING_WITH_ERROR",
        "The zone 'europe-west4-a' does not have enough resources available to fulfill the request.",
        FailureClass.STOCKOUT,
    ),
    (
        "GKE",
        "Exit1",
        "ERROR: (gcloud.auth.print-access-token) There was a problem refreshing your current auth tokens: Reauthentication required.",
        FailureClass.CREDENTIALS,
    ),
    ("the command", "NoProgram", "the program power was not found", FailureClass.SETUP),
    ("the command", "NoAnswer", "power did not end within 60 s", FailureClass.TIMEOUT),
    ("the command", "Exit9", "fan 3 is broken", FailureClass.OTHER),
)


@pytest.mark.parametrize(("who", "code", "said", "kind"), SAID)
def test_words_of_clouds_have_a_class_and_a_remedy(
    who: str, code: str, said: str, kind: FailureClass
) -> None:
    told = classed(code, said, who=who)
    assert told.kind is kind
    assert told.sentence and told.remedy and "{" not in told.whole
    assert said in told.whole


def test_every_class_that_a_cloud_can_tell_is_hit() -> None:
    hit = {one[1] for one in SCRIPTS} | {one[3] for one in SAID}
    in_cluster = {
        FailureClass.MISMATCH,
        FailureClass.NO_GPUS,
        FailureClass.BOUNDS,
        FailureClass.NO_AUTOSCALER,
        FailureClass.NODE_DELETED,
    }
    assert hit == set(FailureClass) - in_cluster  # seen there, never told by a cloud


# ---- what ends well


async def test_a_resize_is_one_update_after_one_look() -> None:
    script, lines = aws([UPDATED]), Lines()
    outcome = await carry(plan_of(eks_pool()), script.ways, lines)
    assert (outcome.state, outcome.sentence) == ("done", "Growing pool gpu to 4 (UpdateNodegroupConfig 5f2c)")
    assert script.asked[-1] == (
        "update_nodegroup_config",
        {
            "clusterName": "prod",
            "nodegroupName": "gpu",
            "scalingConfig": {"desiredSize": 4},
            "clientRequestToken": "id1",
        },
    )
    assert (lines.entries[0].method, lines.entries[0].path, lines.entries[0].uid) == (
        "UpdateNodegroupConfig",
        "eks/eu-west-1/prod/gpu",
        ARN,
    )


async def test_a_throttled_update_is_tried_again_with_growing_pauses() -> None:
    script = aws([THROTTLED, THROTTLED, UPDATED])
    outcome = await carry(plan_of(eks_pool()), script.ways)
    assert outcome.state == "done"
    assert script.pauses == [1.0, 2.0]
    tokens = [sent["clientRequestToken"] for name, sent in script.asked if name == "update_nodegroup_config"]
    assert tokens == ["id1"] * 3


async def test_a_lost_answer_that_was_carried_out_is_confirmed_and_not_sent_again() -> None:
    script = aws([LOST], [group(2), group(4)])
    outcome = await carry(plan_of(eks_pool()), script.ways)
    assert (outcome.state, outcome.sentence) == (
        "done",
        "Growing pool gpu to 4 (the answer was lost; AWS confirms the change)",
    )
    assert script.names().count("update_nodegroup_config") == 1


async def test_the_same_plan_sent_twice_changes_nothing_the_second_time() -> None:
    script = aws([UPDATED], [group(2), group(4)])
    assert (await carry(plan_of(eks_pool()), script.ways)).is_done
    again = await carry(plan_of(eks_pool()), script.ways)
    assert (again.state, again.is_moved) == ("refused", True)
    assert script.names().count("update_nodegroup_config") == 1


async def test_read_only_sends_nothing_and_asks_nothing() -> None:
    script = aws([UPDATED])
    outcome = await carry(plan_of(eks_pool()), script.ways, line=Line(read_only=True))
    assert outcome.state == "refused"
    assert script.asked == []


async def test_a_trial_says_that_there_is_no_dry_run_and_what_was_compared() -> None:
    script = aws([UPDATED])
    outcome = await rehearse(
        plan_of(eks_pool()), Line(read_only=True), perform=outside_perform(ways=script.ways)
    )
    assert (outcome.state, outcome.sentence) == (
        "done",
        "AWS offers no dry run: sizes and bounds match its current answer",
    )
    assert "update_nodegroup_config" not in script.names()


async def test_a_size_beyond_the_bounds_of_aws_is_not_sent() -> None:
    script = aws([UPDATED])
    outcome = await carry(plan_of(eks_pool(), 11), script.ways)
    assert outcome.sentence == (
        "nodegroup gpu: the size is outside the bounds that AWS has for this pool; raise the maximum first, or ask"
        " for fewer nodes (a size of 11 is out of range, the bound is 10)"
    )
    assert "update_nodegroup_config" not in script.names()


async def test_keys_and_blobs_of_an_error_are_not_shown() -> None:
    said = "AKIAIOSFODNN7EXAMPLE is wrong. Encoded authorization failure message: abcdef123 \x1b[31m"
    outcome = await carry(plan_of(eks_pool()), aws([refusal("AccessDenied", said, 403)]).ways)
    assert (
        "AKIA" not in outcome.sentence and "abcdef" not in outcome.sentence and "\x1b" not in outcome.sentence
    )


async def test_a_command_that_fails_is_told_by_its_own_first_line_of_error() -> None:
    error = OutsideError(
        "AKS", "Exit1", "ERROR: (QuotaExceeded) approved Total Regional Cores quota. Current Limit: 10"
    )
    programs = Programs(error)
    outcome = await carry(plan_of(aks_pool()), programs.ways)
    assert outcome.sentence == (
        "pool gpu: a quota of the account at AKS is used up; ask AKS for a higher quota, or free machines of that"
        " family (ERROR: (QuotaExceeded) approved Total Regional Cores quota. Current Limit: 10)"
    )
