"""How a pool outside the cluster is reached: whose API or which command, and by which names."""

import re

import msgspec

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")

Pairs = tuple[tuple[str, str], ...]


class Commands(msgspec.Struct, frozen=True, kw_only=True):
    """Argument lists that read and change a pool, and where in the JSON that `read` prints its facts stand.

    Words may hold `{pool}`, `{size}`, `{minimum}`, `{maximum}` and `{NAME}` of `values`. A path is keys and
    positions with dots between (`autoscaling.maxNodeCount`); "" where the answer does not tell. `zones`
    leads to a list: the program's numbers are then for one zone, ours for all. `busy` and `failed` are
    words at `status`.
    """

    who: str  # "AKS": as sentences name it
    read: tuple[str, ...]
    resize: tuple[str, ...] = ()
    limit: tuple[str, ...] = ()
    follow: tuple[str, ...] = ()  # "" is `read`
    desired: str = ""
    minimum: str = ""
    maximum: str = ""
    machine: str = ""
    status: str = ""
    message: str = ""
    zones: str = ""
    autoscaled: str = ""
    identity: str = ""
    is_desired_stale_when_autoscaled: bool = (
        False  # then what stands at `desired` is the size it was made with
    )
    busy: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()  # keys of node labels that name such a pool; () is any
    values: Pairs = ()
    environment: tuple[
        str, ...
    ] = ()  # names of variables that the program is given in addition to the common ones
    timeout_seconds: float = 60.0

    def filled(self, words: tuple[str, ...], pool: str, **numbers: int) -> list[str]:
        """These words with their placeholders filled; what is filled in stays part of one word."""
        known = {**dict(self.values), "pool": pool, **{name: str(count) for name, count in numbers.items()}}
        return [_PLACEHOLDER.sub(lambda found: known.get(found[1], found[0]), word) for word in words]


class Reach(msgspec.Struct, frozen=True, kw_only=True):
    """One pool of one service. What a service does not need is ""."""

    service: str  # "eks", "autoscaling", "command"
    pool: str  # its name there; of an auto scaling group that was not found yet ""
    cluster: str = ""
    region: str = ""
    profile: str = ""  # of the AWS configuration
    instances: tuple[str, ...] = ()  # ids of machines by which a group is found
    commands: Commands | None = None

    @property
    def path(self) -> str:
        """`eks/eu-west-1/prod/gpu`: the pool in one line, for identities and audit lines."""
        return "/".join(part for part in (self.service, self.region, self.cluster, self.pool) if part)


class AwsSite(msgspec.Struct, frozen=True, kw_only=True):
    """What is configured of AWS; "" is found from the nodes, or from AWS' own configuration."""

    cluster: str = ""
    region: str = ""
    profile: str = ""


class Outside(msgspec.Struct, frozen=True, kw_only=True):
    """What is configured of pools outside the cluster. `commands` go by the pool's name; "*" is every
    pool."""

    aws: AwsSite = AwsSite()
    commands: tuple[tuple[str, Commands], ...] = ()

    def commands_of(self, pool: str) -> Commands | None:
        """Those of the pool of that name."""
        named = dict(self.commands)
        return named.get(pool, named.get("*"))


NOTHING_OUTSIDE = Outside()
