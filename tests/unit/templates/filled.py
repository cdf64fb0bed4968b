"""Templates with a good value in every field."""

from cockpit.jobs.parameters import Parameter
from cockpit.jobs.template import Template

GOOD = {
    "dns-label": "chosen",
    "integer": "7",
    "quantity": "3Gi",
    "image": "registry.example/other:2",
    "switch": "true",
    "command": "run 'a b' c",
    "environment": "LR=0.1 'NOTE=two words'",
    "labels": "example.com/pool=new zone-kind=b",
    "resources": "rdma/hca=2",
    "table": "low=Tesla-V100 high=H100",
    "annotations": "example.com/note='two words'",
    "tolerations": "example.com/pool=new:NoSchedule spot",
    "config-maps": "train:/config limits",
    "secrets": "wandb machine:/root/machine:ro",
    "claims": "datasets:/data models:/models:ro",
    "host-paths": "/opt/driver:/usr/local/driver:ro",
    "path": "/logs",
    "git": "git@example.com:team/code.git",
    "revision": "release/1.0",
    "schedule": "*/10 0-6,22 1 * mon-fri",
    "time-zone": "Europe/Berlin",
    "resource-name": "amd.com/gpu",
    "label-value": "NVIDIA-H100-80GB-HBM3",
    "label-key": "example.com/rack",
    "object-name": "gpu-7.example.com",
}


def good(one: Parameter) -> str:
    if one.choices:
        return one.choices[-1]
    if one.type == "integer" and one.minimum and int(one.minimum) > 7:
        return one.minimum
    return GOOD[one.type]


def everything(template: Template) -> dict[str, str]:
    """A good value in every field; claims and mounts of different fields at different places."""
    values = {one.name: good(one) for one in template.parameters}
    for at, one in enumerate(template.parameters):
        if one.type == "image":
            values[one.name] = f"registry.example/{one.name}:2"
        if one.type in ("claims", "host-paths", "config-maps", "secrets"):
            values[one.name] = values[one.name].replace(":/", f":/mount-{at}/")
    return values
