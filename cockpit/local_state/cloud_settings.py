"""The parts of the configuration that tell how pools outside the cluster are read and changed.

```toml
[context."prod-eu".aws]
region = "eu-west-1"        # else from the zone of a node
cluster = "prod"            # else from a label of the nodes
profile = "ops"             # of the AWS configuration

[context."research".outside-pools."*"]      # every pool that has no section of its own
profile = "aks"
values = { resource-group = "research", cluster = "train" }

[context."lab".outside-pools.rack-a]
read = ["power", "show", "{pool}"]
resize = ["power", "set", "{pool}", "{size}"]
desired = "machines.wanted"
```
"""

import difflib
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from cockpit.errors import BadInput
from cockpit.local_state.setting_list import AWS, POOL, names
from cockpit.model.reach import AwsSite, Commands, Outside

_LISTS: Final = ("read", "resize", "limit", "follow")
_PATHS: Final = (
    "desired",
    "minimum",
    "maximum",
    "machine",
    "status",
    "message",
    "zones",
    "autoscaled",
    "identity",
)
_WORDS: Final = ("busy", "failed", "environment")
_OWN_NAMES: Final = ("pool", "size", "minimum", "maximum")
_PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,40}")
_REGION: Final = re.compile(r"[a-z]{2,4}(-[a-z]+)+-\d{1,2}")
_NEEDS: Final = {"resize": "size", "limit": "maximum"}
SHORTEST_SECONDS, LONGEST_SECONDS = 1, 600


class SettingsReader(Protocol):
    """What checks values and words the sentence for those that cannot be used (of `config`)."""

    def fault(self, key: str, section: str, what: str, *, rules_table: bool = False) -> BadInput: ...

    def refuse_unknown(self, tree: Mapping[str, Any], known: tuple[str, ...], section: str) -> None: ...

    def table(self, tree: Mapping[str, Any], key: str, section: str) -> Mapping[str, Any]: ...

    def text(self, tree: Mapping[str, Any], key: str, section: str) -> str: ...


def read_outside(reader: SettingsReader, tree: Mapping[str, Any], section: str) -> Outside:
    """What the table of one context says of pools outside the cluster. Raises BadInput."""
    pools = reader.table(tree, "outside-pools", section)
    inner = f"{section}.outside-pools"
    return Outside(
        aws=_aws(reader, reader.table(tree, "aws", section), f"{section}.aws"),
        commands=tuple(
            (name, _commands(reader, reader.table(pools, name, inner), f"{inner}.{name}")) for name in pools
        ),
    )


def _aws(reader: SettingsReader, tree: Mapping[str, Any], section: str) -> AwsSite:
    reader.refuse_unknown(tree, names(AWS), section)
    region = reader.text(tree, "region", section)
    if region and not _REGION.fullmatch(region):
        raise reader.fault("region", section, f"{region!r} is not a region such as eu-west-1")
    return AwsSite(
        region=region,
        cluster=reader.text(tree, "cluster", section),
        profile=reader.text(tree, "profile", section),
    )


def _commands(reader: SettingsReader, tree: Mapping[str, Any], section: str) -> Commands:
    reader.refuse_unknown(tree, names(POOL), section)
    base = _profile(reader, tree, section)
    given: dict[str, Any] = {key: _argv(reader, tree, key, section) for key in _LISTS if key in tree}
    given |= {key: reader.text(tree, key, section) for key in _PATHS if key in tree}
    given |= {key: _texts(reader, tree, key, section) for key in _WORDS if key in tree}
    if "timeout-seconds" in tree:
        given["timeout_seconds"] = _seconds(reader, tree, section)
    given["values"] = _values(reader, tree, section)
    found = msgspec.structs.replace(base, **given)
    if not found.read:
        raise reader.fault("read", section, f"give a list of words, or a profile: {', '.join(profiles())}")
    if found.limit and not found.maximum:
        raise reader.fault(
            "maximum", section, "give the path of the maximum in what read prints: limit changes it"
        )
    _check_placeholders(reader, found, section)
    return found


def _profile(reader: SettingsReader, tree: Mapping[str, Any], section: str) -> Commands:
    name = reader.text(tree, "profile", section)
    if not name:
        return Commands(who="the command", read=())
    if name not in profiles():
        near = difflib.get_close_matches(name, profiles(), n=1)
        remedy = f"did you mean {near[0]}?" if near else f"known profiles: {', '.join(profiles())}"
        raise reader.fault("profile", section, f"unknown profile {name!r}; {remedy}", rules_table=True)
    return profiles()[name]


def _argv(reader: SettingsReader, tree: Mapping[str, Any], key: str, section: str) -> tuple[str, ...]:
    if isinstance(tree.get(key), str):
        raise reader.fault(key, section, "give a list of words: it is run without a shell")
    words = _texts(reader, tree, key, section)
    if not words:
        raise reader.fault(key, section, "give at least the program's name")
    return words


def _texts(reader: SettingsReader, tree: Mapping[str, Any], key: str, section: str) -> tuple[str, ...]:
    value = tree.get(key)
    if not isinstance(value, list) or not all(
        isinstance(item, str) and item and item.isprintable() for item in value
    ):
        raise reader.fault(key, section, "give a list of words without control characters")
    return tuple(value)


def _seconds(reader: SettingsReader, tree: Mapping[str, Any], section: str) -> float:
    value = tree["timeout-seconds"]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not SHORTEST_SECONDS <= value <= LONGEST_SECONDS:
        what = f"give {SHORTEST_SECONDS} to {LONGEST_SECONDS} seconds, not {value!r}"
        raise reader.fault("timeout-seconds", section, what)
    return float(value)


def _values(reader: SettingsReader, tree: Mapping[str, Any], section: str) -> tuple[tuple[str, str], ...]:
    table = reader.table(tree, "values", section)
    for name in table:
        if not _NAME.fullmatch(name) or name in _OWN_NAMES:
            raise reader.fault(
                name, f"{section}.values", "this name cannot be a placeholder; choose another one"
            )
    found = tuple((name, reader.text(table, name, f"{section}.values")) for name in table)
    for name, value in found:
        if not value or value.startswith("-"):
            # A value that begins with a dash would be an option of the program.
            raise reader.fault(name, f"{section}.values", f"{value!r} cannot be a value of a command")
    return found


def _check_placeholders(reader: SettingsReader, commands: Commands, section: str) -> None:
    known = {*_OWN_NAMES, *(name for name, _ in commands.values)}
    for key in _LISTS:
        used = {name for word in getattr(commands, key) for name in _PLACEHOLDER.findall(word)}
        for name in sorted(used - known):
            raise reader.fault(
                "values", section, f"{key} needs a value for {{{name}}}: values = {{ {name} = ... }}"
            )
        needed = _NEEDS.get(key)
        if getattr(commands, key) and needed and needed not in used:
            raise reader.fault(
                key, section, f"no word holds {{{needed}}}: the program would not be told the number"
            )
        sizes = used & {"size", "minimum", "maximum"}
        if key in ("read", "follow") and sizes:
            raise reader.fault(key, section, f"{{{min(sizes)}}} has no meaning here: it only reads")


@cache  # read where a configuration names one: not while the cockpit starts
def profiles() -> dict[str, Commands]:
    """Commands of clouds that are shipped, by the word of the configuration."""
    text = Path(__file__).with_name("command_profiles.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, Commands])
