"""Auto scaling groups of other shapes than the plain one: mixed machines, weights, suspended processes, warm
pools, several groups behind one node group, pages, and answers that come late or twice."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import boto3
import pytest
from moto import mock_aws

from cockpit.clouds.aws import Aws
from cockpit.clouds.errors import Moved, OutsideError
from cockpit.clouds.reading import read_pool
from cockpit.clouds.sending import send
from cockpit.model.pool import PoolObject
from cockpit.model.reach import Reach
from cockpit.pools.owner import FailureClass
from cockpit.store.store import Store
from tests.unit.clouds.scripted import (
    AT,
    NO_ACTIVITIES,
    REACH,
    ScriptedAws,
    activity,
    group,
    plain_group,
    refusal,
)
from tests.unit.pools.builders import able, node

REGION = "eu-west-1"
PLAIN = Reach(service="autoscaling", pool="h100", region=REGION)


@pytest.fixture
def moto(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of Auto Scaling that moto answers."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    with mock_aws():
        yield boto3.client("autoscaling", region_name=REGION)


def mixed(client: Any, size: int, *, weights: tuple[str, str] = ("1", "1"), **more: Any) -> None:
    """A group of two types of machines, most of them spot."""
    ec2 = boto3.client("ec2", region_name=REGION)
    data = {"ImageId": "ami-12345678", "InstanceType": "p5.48xlarge"}
    template = ec2.create_launch_template(LaunchTemplateName="h100", LaunchTemplateData=data)
    types = ("p5e.48xlarge", "p4d.24xlarge")
    client.create_auto_scaling_group(
        AutoScalingGroupName="h100",
        MinSize=0,
        MaxSize=8,
        DesiredCapacity=size,
        CapacityRebalance=True,
        MixedInstancesPolicy={
            "LaunchTemplate": {
                "LaunchTemplateSpecification": {
                    "LaunchTemplateId": template["LaunchTemplate"]["LaunchTemplateId"],
                    "Version": "$Latest",
                },
                "Overrides": [
                    {"InstanceType": one, "WeightedCapacity": weight}
                    for one, weight in zip(types, weights, strict=True)
                ],
            },
            "InstancesDistribution": {"OnDemandBaseCapacity": 1, "OnDemandPercentageAboveBaseCapacity": 0},
        },
        VPCZoneIdentifier=ec2.describe_subnets()["Subnets"][0]["SubnetId"],
        **more,
    )


async def read(reach: Reach = PLAIN, aws: ScriptedAws | None = None) -> PoolObject:
    answer = await (read_pool(reach, 7.0) if aws is None else read_pool(reach, 7.0, aws.ways))
    (found,) = answer.pools
    return found


# ---- shapes, against moto


async def test_a_mixed_group_at_zero_tells_the_type_that_it_prefers(moto: Any) -> None:
    mixed(moto, 0)
    found = await read()
    assert (found.instance_type, found.replicas, found.max_replicas) == ("p5e.48xlarge", 0, 8)
    owner = able(found)
    assert owner.may_resize(found).may
    await send(owner.resize_calls(found, 3)[0], read_only=False)
    assert (await read()).replicas == 3


async def test_weights_are_no_number_of_nodes(moto: Any) -> None:
    mixed(moto, 2, weights=("8", "4"))
    found = await read()
    owner = able(found)
    says = owner.may_resize(found)
    assert not says.may
    assert says.why_not == (
        "its capacity is counted in weights of its machine types: a number of nodes cannot be set"
    )


async def test_cores_are_no_number_of_nodes() -> None:
    told = dict(plain_group(2)["AutoScalingGroups"][0]) | {"DesiredCapacityType": "vcpu"}
    aws = ScriptedAws(
        describe_auto_scaling_groups=[{"AutoScalingGroups": [told]}],
        describe_scaling_activities=[NO_ACTIVITIES],
    )
    found = await read(PLAIN, aws)
    owner = able(found)
    assert "counted in vcpu" in owner.may_limit(found).why_not


async def test_suspended_processes_are_told_where_they_matter(moto: Any) -> None:
    mixed(moto, 2)
    moto.suspend_processes(AutoScalingGroupName="h100", ScalingProcesses=["AZRebalance", "Launch"])
    found = await read()
    (failure,) = able(found).failures(found, (), Store(), 7.0)
    assert (failure.kind, failure.code) == (FailureClass.SETUP, "LaunchSuspended")
    assert failure.remedy == "resume it (aws autoscaling resume-processes)"


async def test_a_size_beyond_the_maximum_is_read_as_it_is_and_never_raised_further(moto: Any) -> None:
    mixed(moto, 2)
    moto.set_desired_capacity(AutoScalingGroupName="h100", DesiredCapacity=11)  # moto lets that pass
    found = await read()
    assert (found.replicas, found.max_replicas) == (11, 8)
    owner = able(found)
    with pytest.raises(OutsideError, match="a size of 9 is out of range, the bound is 8"):
        await send(owner.resize_calls(found, 9)[0], read_only=False)
    await send(owner.resize_calls(found, 8)[0], read_only=False)
    assert (await read()).replicas == 8


async def test_a_scheduled_action_that_acts_between_preview_and_yes_is_seen(moto: Any) -> None:
    mixed(moto, 3)
    found = await read()
    call = able(found).resize_calls(found, 4)[0]
    moto.update_auto_scaling_group(AutoScalingGroupName="h100", DesiredCapacity=0)  # as at 22:00
    with pytest.raises(Moved, match=r"shown: desired=3,min=0,max=8, now: desired=0"):
        await send(call, read_only=False)


async def test_each_of_several_chosen_machines_ends(moto: Any) -> None:
    mixed(moto, 4)
    found = await read()
    assert found.reach is not None
    chosen = found.reach.instances[:3]
    nodes = tuple(node(one, provider_id=f"aws:///eu-west-1a/{one}") for one in chosen)
    for call in able(found).removal_calls(found, nodes, Store()):
        await send(call, read_only=False)
    after = await read()
    assert (after.replicas, after.reach and after.reach.instances) == (1, found.reach.instances[3:])


async def test_no_machine_ends_below_the_minimum(moto: Any) -> None:
    mixed(moto, 3)
    moto.update_auto_scaling_group(AutoScalingGroupName="h100", MinSize=2)
    found = await read()
    assert found.reach is not None
    nodes = tuple(node(one, provider_id=f"aws:///eu-west-1a/{one}") for one in found.reach.instances[:2])
    first, second = able(found).removal_calls(found, nodes, Store())
    await send(first, read_only=False)
    with pytest.raises(OutsideError, match="a size of 1 is out of range, the bound is 2"):
        await send(second, read_only=False)
    assert (await read()).replicas == 2


# ---- answers, by a script


def behind(*activities: Any, **more: Any) -> ScriptedAws:
    """A node group of two groups: what each says of its launches."""
    told = dict(group(2)["nodegroup"])
    told["resources"] = {"autoScalingGroups": [{"name": "zone-a"}, {"name": "zone-b"}]}
    return ScriptedAws(
        describe_nodegroup=[{"nodegroup": told}], describe_scaling_activities=list(activities), **more
    )


async def test_a_zone_that_makes_machines_does_not_hide_one_that_does_not() -> None:
    came = activity("Successful", start=AT + timedelta(minutes=5), instance="i-0123456789abcdef0")
    short = activity("Failed", "We currently do not have sufficient p5.48xlarge capacity", start=AT)
    aws = behind({"Activities": [came]}, {"Activities": [short]})
    found = await read(REACH, aws)
    told = able(found).failures(found, (), Store(), 7.0)
    assert [one.kind for one in told] == [FailureClass.STOCKOUT]


async def test_one_group_that_may_not_be_looked_at_does_not_hide_the_other() -> None:
    short = activity("Failed", "Max spot instance count exceeded: MaxSpotInstanceCountExceeded")
    aws = behind(refusal("AccessDenied", "not authorized", 403), {"Activities": [short]})
    found = await read(REACH, aws)
    told = able(found).failures(found, (), Store(), 7.0)
    assert [one.kind for one in told] == [FailureClass.QUOTA]


async def test_a_machine_that_goes_to_the_warm_pool_is_none_that_comes() -> None:
    warm = dict(activity("Successful", instance="i-0123456789abcdef0"))
    warm["Description"] = "Launching a new EC2 instance into warm pool: i-0123456789abcdef0"
    woken = dict(activity("InProgress", start=AT + timedelta(minutes=1)))
    woken["Description"] = "Launching a new EC2 instance from warm pool: i-0aa3456789abcdef0"
    aws = ScriptedAws(
        describe_auto_scaling_groups=[plain_group(1)],
        describe_scaling_activities=[{"Activities": [warm, woken]}],
    )
    machines = (await read_pool(PLAIN, 7.0, aws.ways)).machines
    assert [one.name for one in machines] == ["i-0aa3456789abcdef0"]


async def test_pages_are_read_to_the_end_and_a_page_that_repeats_itself_ends_too() -> None:
    pages: list[dict[str, Any]] = [
        {"AutoScalingInstances": [{"AutoScalingGroupName": "h100"}], "NextToken": "two"},
        {"AutoScalingInstances": [{"AutoScalingGroupName": "h100"}]},
    ]
    aws = ScriptedAws(
        describe_auto_scaling_instances=pages,
        describe_auto_scaling_groups=[plain_group(2)],
        describe_scaling_activities=[NO_ACTIVITIES],
    )
    by_instance = Reach(service="autoscaling", pool="", region=REGION, instances=("i-00000000",))
    assert (await read(by_instance, aws)).name == "h100"
    assert [asked.get("NextToken") for name, asked in aws.asked if "instances" in name] == [None, "two"]
    again = ScriptedAws(list_updates=[{"updateIds": ["u"], "nextToken": "same"}])
    asked = Aws(REACH, connect=again.connect).pages("eks", "list_updates", "updateIds")
    assert len(list(asked)) == 40


async def test_an_answer_that_comes_late_is_looked_up_and_the_change_not_sent_twice() -> None:
    aws = ScriptedAws(
        describe_auto_scaling_groups=[plain_group(2), plain_group(4)],
        describe_scaling_activities=[NO_ACTIVITIES],
        set_desired_capacity=[refusal("InternalFailure", "try again", 500)],
    )
    found = await read(
        PLAIN,
        ScriptedAws(
            describe_auto_scaling_groups=[plain_group(2)], describe_scaling_activities=[NO_ACTIVITIES]
        ),
    )
    sent = await send(able(found).resize_calls(found, 4)[0], read_only=False, ways=aws.ways)
    assert sent.sentence == "the answer was lost; AWS confirms the change"
    assert aws.names().count("set_desired_capacity") == 1
