"""What is asked of AWS and what it answers, against moto: shapes and pages. Failures have scripts."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from cockpit.clouds.errors import OutsideError
from cockpit.clouds.reading import read_pool
from cockpit.clouds.sending import send
from cockpit.model.pool import PoolObject
from cockpit.model.reach import AwsSite, Outside, Reach
from cockpit.pools import registry
from cockpit.store.store import Store
from tests.unit.clouds.scripted import REACH
from tests.unit.pools.builders import able, node

ROLE = "arn:aws:iam::123456789012:role/nodes"
REGION = "eu-west-1"


@pytest.fixture(autouse=True)
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No account: moto answers in this process."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    with mock_aws():
        yield


@pytest.fixture
def eks() -> Any:
    """A cluster with one node group of two."""
    client = boto3.client("eks", region_name=REGION)
    client.create_cluster(name="prod", roleArn=ROLE, resourcesVpcConfig={"subnetIds": []})
    client.create_nodegroup(
        clusterName="prod",
        nodegroupName="gpu",
        subnets=[],
        nodeRole=ROLE,
        instanceTypes=["p5.48xlarge"],
        scalingConfig={"minSize": 0, "maxSize": 10, "desiredSize": 2},
    )
    return client


def plain_group(size: int, name: str = "h100") -> list[str]:
    """An auto scaling group; the answer is the ids of its machines."""
    ec2 = boto3.client("ec2", region_name=REGION)
    client = boto3.client("autoscaling", region_name=REGION)
    client.create_launch_configuration(
        LaunchConfigurationName=name, ImageId="ami-12345678", InstanceType="p5.48xlarge"
    )
    client.create_auto_scaling_group(
        AutoScalingGroupName=name,
        MinSize=0,
        MaxSize=80,
        DesiredCapacity=size,
        LaunchConfigurationName=name,
        VPCZoneIdentifier=ec2.describe_subnets()["Subnets"][0]["SubnetId"],
    )
    groups = client.describe_auto_scaling_groups(AutoScalingGroupNames=[name])["AutoScalingGroups"]
    return [one["InstanceId"] for one in groups[0]["Instances"]]


async def read(reach: Reach = REACH) -> PoolObject:
    (found,) = (await read_pool(reach, 7.0)).pools
    return found


async def test_a_node_group_is_read(eks: Any) -> None:
    found = await read()
    assert (found.name, found.replicas, found.min_replicas, found.max_replicas) == ("gpu", 2, 0, 10)
    assert (found.instance_type, found.read_seconds) == ("p5.48xlarge", 7.0)
    assert found.uid.startswith("arn:aws:eks:eu-west-1:")
    # moto names an auto scaling group that it does not have: the group itself is read all the same
    assert [one.reason for one in found.conditions][:1] == ["ACTIVE"]


async def test_a_node_group_is_resized_and_its_maximum_raised(eks: Any) -> None:
    found = await read()
    owner = able(found)
    await send(owner.limit_calls(found, 12)[0], read_only=False)
    found = await read()
    await send(owner.resize_calls(found, 12)[0], read_only=False)
    told = eks.describe_nodegroup(clusterName="prod", nodegroupName="gpu")["nodegroup"]["scalingConfig"]
    assert told == {"minSize": 0, "maxSize": 12, "desiredSize": 12}


async def test_what_moto_would_accept_is_refused_by_us(eks: Any) -> None:
    found = await read()
    with pytest.raises(OutsideError) as refused:
        await send(able(found).resize_calls(found, 11)[0], read_only=False)
    assert refused.value.code == "OutOfBounds"
    assert (await read()).replicas == 2


@pytest.mark.parametrize(("pool", "cluster"), [("nope", "prod"), ("gpu", "nope")])
async def test_a_group_or_a_cluster_that_is_not_there(eks: Any, pool: str, cluster: str) -> None:
    with pytest.raises(OutsideError) as refused:
        await read(Reach(service="eks", pool=pool, cluster=cluster, region=REGION))
    assert refused.value.code == "ResourceNotFoundException"


async def test_an_auto_scaling_group_is_found_by_its_machines_page_by_page() -> None:
    instances = plain_group(55)
    members = tuple(
        node(f"n-{at}", provider_id=f"aws:///eu-west-1a/{one}") for at, one in enumerate(instances)
    )
    stub = registry.unread("(no pool)", members, Outside(aws=AwsSite(region=REGION)))
    assert stub is not None and stub.reach is not None and len(stub.reach.instances) == 55
    found = await read(stub.reach)
    assert (found.name, found.replicas, found.max_replicas, found.status_replicas) == ("h100", 55, 80, 55)
    assert all(registry.object_of(one, (found,)) is found for one in members)


async def test_an_auto_scaling_group_is_resized_and_a_chosen_machine_ends() -> None:
    instances = plain_group(3)
    found = await read(Reach(service="autoscaling", pool="h100", region=REGION))
    owner = able(found)
    await send(owner.resize_calls(found, 4)[0], read_only=False)
    found = await read(Reach(service="autoscaling", pool="h100", region=REGION))
    assert found.replicas == 4
    chosen = node("n-1", provider_id=f"aws:///eu-west-1a/{instances[1]}")
    await send(owner.removal_calls(found, (chosen,), Store())[0], read_only=False)
    found = await read(Reach(service="autoscaling", pool="h100", region=REGION))
    assert found.replicas == 3
    assert found.reach is not None and instances[1] not in found.reach.instances


async def test_machines_of_no_group() -> None:
    with pytest.raises(OutsideError) as refused:
        await read(Reach(service="autoscaling", pool="", region=REGION, instances=("i-0123456789abcdef0",)))
    assert refused.value.sentence == "AWS: these machines belong to no auto scaling group"


async def test_writes_pass_only_where_they_are_allowed(eks: Any) -> None:
    from cockpit.clouds.aws import Aws

    with pytest.raises(OutsideError) as refused:
        Aws(REACH).ask("eks", "update_nodegroup_config", clusterName="prod", nodegroupName="gpu")
    assert refused.value.code == "ReadOnly"
