"""What the configuration says of pools outside the cluster, and a sentence for each value that cannot be used."""

from pathlib import Path

import pytest

from cockpit.errors import BadInput
from cockpit.local_state.config import read_settings
from cockpit.model.reach import AwsSite

HOME = Path("/home/somebody")
WHOLE = """
[context.prod]
aws = { region = "eu-west-1", cluster = "prod", profile = "ops" }
[context.research.outside-pools."*"]
profile = "aks"
values = { resource-group = "research", cluster = "train" }
[context.lab.outside-pools.rack-a]
read = ["power", "show", "{pool}"]
resize = ["power", "set", "{pool}", "{size}"]
limit = ["power", "limit", "{pool}", "{maximum}"]
desired = "machines.wanted"
maximum = "machines.most"
busy = ["booting"]
timeout-seconds = 30
environment = ["POWER_TOKEN_FILE"]
"""


def test_reads_everything() -> None:
    settings = read_settings(WHOLE, "c.toml", HOME)
    assert settings.of_context("prod").outside.aws == AwsSite(
        region="eu-west-1", cluster="prod", profile="ops"
    )
    commands = settings.of_context("research").outside.commands_of("any")
    assert commands is not None
    assert commands.filled(commands.resize, "gpu", size=4) == [
        *("az", "aks", "nodepool", "scale", "--resource-group", "research", "--cluster-name", "train"),
        *("--name", "gpu", "--node-count", "4", "--no-wait"),
    ]
    lab = settings.of_context("lab").outside
    assert lab.commands_of("rack-b") is None
    own = lab.commands_of("rack-a")
    assert own is not None
    assert (own.desired, own.busy, own.timeout_seconds, own.environment) == (
        "machines.wanted",
        ("booting",),
        30.0,
        ("POWER_TOKEN_FILE",),
    )
    assert settings.of_context("other").outside.commands == ()


SECTION = '[context.x.outside-pools.gpu]\nread = ["p", "{pool}"]\n'


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            '[context.x]\naws = { regoin = "eu-west-1" }',
            'c.toml: context."x".aws.regoin: unknown key; did you mean region?',
        ),
        (
            '[context.x]\naws = { region = "Ireland" }',
            "c.toml: context.\"x\".aws.region: 'Ireland' is not a region such as eu-west-1",
        ),
        ('[context.x]\naws = "prod"', 'c.toml:2: context."x".aws: give a table'),
        (
            '[context.x.outside-pools.gpu]\nprofile = "ask"',
            "c.toml:2: context.\"x\".outside-pools.gpu.profile: unknown profile 'ask'; did you mean aks?",
        ),
        (
            '[context.x.outside-pools.gpu]\nprofile = "aks"',
            'c.toml: context."x".outside-pools.gpu.values: read needs a value for {cluster}: values = { cluster = ... }',
        ),
        (
            '[context.x.outside-pools.gpu]\nresize = ["p"]',
            'c.toml: context."x".outside-pools.gpu.read: give a list of words, or a profile: aks, gke, vmss',
        ),
        (
            '[context.x.outside-pools.gpu]\nread = "p show {pool}"',
            'c.toml:2: context."x".outside-pools.gpu.read: give a list of words: it is run without a shell',
        ),
        (
            "[context.x.outside-pools.gpu]\nread = []",
            'c.toml:2: context."x".outside-pools.gpu.read: give at least the program\'s name',
        ),
        (
            SECTION + 'resize = ["p", "set"]',
            'c.toml:3: context."x".outside-pools.gpu.resize: no word holds {size}: the program would not be told the number',
        ),
        (
            SECTION + 'follow = ["p", "{size}"]',
            'c.toml:3: context."x".outside-pools.gpu.follow: {size} has no meaning here: it only reads',
        ),
        (
            SECTION + 'limit = ["p", "{maximum}"]',
            'c.toml: context."x".outside-pools.gpu.maximum: give the path of the maximum in what read prints: limit changes it',
        ),
        (
            SECTION + "timeout-seconds = 0",
            'c.toml:3: context."x".outside-pools.gpu.timeout-seconds: give 1 to 600 seconds, not 0',
        ),
        (
            SECTION + "timeout-seconds = true",
            'c.toml:3: context."x".outside-pools.gpu.timeout-seconds: give 1 to 600 seconds, not True',
        ),
        (
            SECTION + 'values = { size = "3" }',
            'c.toml: context."x".outside-pools.gpu.values.size: this name cannot be a placeholder; choose another one',
        ),
        (
            SECTION + 'values = { room = "--delete" }',
            "c.toml: context.\"x\".outside-pools.gpu.values.room: '--delete' cannot be a value of a command",
        ),
        (
            SECTION + 'busy = "booting"',
            'c.toml:3: context."x".outside-pools.gpu.busy: give a list of words without control characters',
        ),
        (
            SECTION + "desired = 3",
            'c.toml:3: context."x".outside-pools.gpu.desired: give one line of text, not 3',
        ),
    ],
)
def test_what_cannot_be_used_is_told_with_its_field(text: str, sentence: str) -> None:
    with pytest.raises(BadInput) as refused:
        read_settings(text, "c.toml", HOME)
    assert refused.value.sentence == sentence
