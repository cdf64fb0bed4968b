"""An AWS that answers by a script, programs that do, and pools as both tell them."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError

from cockpit.clouds.errors import OutsideError
from cockpit.clouds.reading import Ways
from cockpit.local_state.cloud_settings import profiles
from cockpit.model.node import Node
from cockpit.model.pool import PoolObject
from cockpit.model.reach import AwsSite, Commands, Outside, Reach
from cockpit.model.record import Labels
from cockpit.pools import registry
from tests.unit.pools.builders import node

AT = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
ARN = "arn:aws:eks:eu-west-1:123456789012:nodegroup/prod/gpu/983e909a"
REACH = Reach(service="eks", pool="gpu", cluster="prod", region="eu-west-1")
OUTSIDE = Outside(aws=AwsSite(cluster="prod"))

Step = Mapping[str, Any] | Exception | Callable[..., Mapping[str, Any]]


def refusal(code: str, message: str, status: int = 400) -> ClientError:
    """What a client of boto3 raises for a refusal."""
    said: Any = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(said, "Operation")


class ScriptedAws:
    """Answers each operation by its script: one step after the other, the last again and again."""

    def __init__(self, **scripts: Sequence[Step]) -> None:
        self._scripts = {name: list(steps) for name, steps in scripts.items()}
        self.asked: list[tuple[str, Mapping[str, Any]]] = []
        self.pauses: list[float] = []

    def connect(self, service: str, reach: Reach) -> Any:
        """In the place of boto3."""
        return self

    def __getattr__(self, operation: str) -> Callable[..., Mapping[str, Any]]:
        def answer(**parameters: Any) -> Mapping[str, Any]:
            self.asked.append((operation, parameters))
            steps = self._scripts[operation]
            step = steps.pop(0) if len(steps) > 1 else steps[0]
            if isinstance(step, Exception):
                raise step
            return step(**parameters) if callable(step) else step

        return answer

    def names(self) -> list[str]:
        """The operations, in the order in which they were asked for."""
        return [name for name, _ in self.asked]

    @property
    def ways(self) -> Ways:
        """To ask it; pauses between tries are kept instead of waited for."""
        return Ways(connect=self.connect, sleep=self.pauses.append)


class Programs:
    """Runs no program: answers argument lists by a script."""

    def __init__(self, *answers: bytes | OutsideError) -> None:
        self._answers = list(answers)
        self.ran: list[list[str]] = []

    async def __call__(self, argv: Sequence[str], commands: Commands, /, *, is_change: bool) -> bytes:
        self.ran.append(list(argv))
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, OutsideError):
            raise answer
        return answer

    @property
    def ways(self) -> Ways:
        """To run them."""
        return Ways(run=self)


def group(
    desired: int = 2,
    *,
    minimum: int = 0,
    maximum: int = 10,
    status: str = "ACTIVE",
    issues: Sequence[Mapping[str, Any]] = (),
    arn: str = ARN,
) -> Mapping[str, Any]:
    """What DescribeNodegroup answers."""
    return {
        "nodegroup": {
            "nodegroupName": "gpu",
            "nodegroupArn": arn,
            "createdAt": AT,
            "status": status,
            "scalingConfig": {"desiredSize": desired, "minSize": minimum, "maxSize": maximum},
            "instanceTypes": ["p5.48xlarge"],
            "resources": {"autoScalingGroups": [{"name": "eks-gpu-983e909a"}]},
            "health": {"issues": list(issues)},
        }
    }


def plain_group(
    desired: int = 2, *, maximum: int = 10, tags: Mapping[str, str] | None = None, name: str = "h100"
) -> Mapping[str, Any]:
    """What DescribeAutoScalingGroups answers."""
    members = [
        {"InstanceId": f"i-{at:08x}", "InstanceType": "p5.48xlarge", "LifecycleState": "InService"}
        for at in range(desired)
    ]
    return {
        "AutoScalingGroups": [
            {
                "AutoScalingGroupName": name,
                "AutoScalingGroupARN": f"arn:aws:autoscaling:eu-west-1:1:autoScalingGroup:9:{name}",
                "MinSize": 0,
                "MaxSize": maximum,
                "DesiredCapacity": desired,
                "Instances": members,
                "Tags": [{"Key": key, "Value": value} for key, value in (tags or {}).items()],
            }
        ]
    }


def activity(
    status: str, message: str = "", *, start: datetime = AT, end: datetime | None = None, instance: str = ""
) -> Mapping[str, Any]:
    """One of what DescribeScalingActivities answers."""
    return {
        "ActivityId": f"{status}-{instance or start.minute}",
        "Description": f"Launching a new EC2 instance: {instance}".rstrip(": "),
        "StatusCode": status,
        "StatusMessage": message,
        "StartTime": start,
        **({"EndTime": end} if end else {}),
        "Details": '{"Availability Zone":"eu-west-1a"}',
    }


NO_ACTIVITIES: Mapping[str, Any] = {"Activities": []}


def eks_node(name: str = "n1", *, zone: str = "eu-west-1a", labels: Labels = ()) -> Node:
    """A node of the managed node group."""
    return node(
        name,
        pool="gpu",
        pool_label="eks.amazonaws.com/nodegroup",
        labels=labels,
        provider_id=f"aws:///{zone}/i-0000000{name[-1]}",
    )


def eks_pool(desired: int = 2, *, minimum: int = 0, maximum: int = 10) -> PoolObject:
    """The node group as it was read."""
    found = registry.unread("gpu", (eks_node(),), OUTSIDE)
    assert found is not None
    from msgspec.structs import replace

    return replace(
        found,
        uid=ARN,
        replicas=desired,
        min_replicas=minimum,
        max_replicas=maximum,
        resource_version=f"desired={desired},min={minimum},max={maximum}",
        read_seconds=1.0,
    )


def command_outside(profile: str, **values: str) -> Outside:
    """A configuration of one profile for every pool."""
    from msgspec.structs import replace

    named = tuple((name.replace("_", "-"), value) for name, value in values.items())
    return Outside(commands=(("*", replace(profiles()[profile], values=named)),))


AKS_ID = (
    "/subscriptions/s/resourceGroups/research/providers/Microsoft.ContainerService"
    "/managedClusters/train/agentPools/gpu"
)
AKS_SHOW = {
    "id": AKS_ID,
    "name": "gpu",
    "count": 2,
    "enableAutoScaling": False,
    "maxCount": None,
    "minCount": None,
    "provisioningState": "Succeeded",
    "powerState": {"code": "Running"},
    "vmSize": "Standard_ND96isr_H100_v5",
}
"""What `az aks nodepool show` prints, as far as it matters."""
GKE_DESCRIBE = {
    "name": "gpu",
    "selfLink": "https://container.googleapis.com/v1/projects/p/locations/europe-west4/clusters/train/nodePools/gpu",
    "initialNodeCount": 2,
    "locations": ["europe-west4-a", "europe-west4-b", "europe-west4-c"],
    "config": {"machineType": "a3-highgpu-8g"},
    "status": "RUNNING",
}
VMSS_SHOW = {
    "id": "/subscriptions/s/resourceGroups/acs/providers/Microsoft.Compute/virtualMachineScaleSets/k8s-gpu-1",
    "sku": {"capacity": 2, "name": "Standard_NC24rs_v3", "tier": "Standard"},
    "provisioningState": "Succeeded",
}


def aks_pool() -> PoolObject:
    """An AKS pool of two nodes as its command tells it."""
    from msgspec.structs import replace

    member = node("aks-1", pool="gpu", pool_label="kubernetes.azure.com/agentpool")
    found = registry.unread(
        "gpu", (member,), command_outside("aks", resource_group="research", cluster="train")
    )
    assert found is not None
    version = "desired=2,min=?,max=?"
    return replace(found, uid=AKS_ID, replicas=2, resource_version=version, read_seconds=1.0)
