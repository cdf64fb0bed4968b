"""The status ConfigMap of cluster-autoscaler: YAML since 1.30, lines of text up to 1.29.

Sources: kubernetes-sigs/cluster-autoscaler pkg/clusterstate/api/types.go, pkg/clusterstate/utils/status.go;
kubernetes/autoscaler 1.29 cluster-autoscaler/clusterstate/api/utils.go.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
import yaml

from cockpit.kube.decode import times
from cockpit.kube.decode.common import identity
from cockpit.kube.decode.reading import JSON
from cockpit.kube.decode.shapes import ObjectMeta, WireShape
from cockpit.mask import mask_text
from cockpit.model.autoscaler import AutoscalerStatus, ScaledGroup
from cockpit.sanitise import WORDS
from cockpit.yaml_text import read_yaml

_UPDATED = "cluster-autoscaler.kubernetes.io/last-updated"
_GO_TIME = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(\.\d{1,9})? ([+-]\d{4})")
_TEXT = "Cluster-autoscaler status at "
_LINE = re.compile(r"^\s*(Name|Health|ScaleUp|ScaleDown|LastTransitionTime):\s+(.*?)\s*$")
_PAIR = re.compile(r"(\w+)=(\d{1,9})\b")
_WORD = re.compile(r"\w+")
MOST_GROUPS = 2_000


class StatusMapShape(WireShape, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    data: dict[str, str] = msgspec.field(default_factory=dict)


def autoscaler_status(shape: StatusMapShape) -> AutoscalerStatus:
    """The record of the status; one that can't be read has no groups and says so in `message`."""
    text = shape.data.get("status", "")
    updated = go_seconds(shape.metadata.annotations.get(_UPDATED, ""))
    told = _of_text(text) if text.lstrip().startswith(_TEXT) else _of_yaml(text)
    written = told.pop("written_seconds", None)
    return AutoscalerStatus(
        **identity(shape.metadata, JSON),
        written_seconds=updated if updated is not None else written,
        **told,
    )


def go_seconds(text: str) -> float | None:
    """Go's layout `2006-01-02 15:04:05.999999999 -0700 MST`, as epoch seconds; None for anything else."""
    found = _GO_TIME.search(text)
    if found is None:
        return None
    day, clock, fraction, zone = found.groups()
    try:
        whole = datetime.strptime(f"{day} {clock} {zone}", "%Y-%m-%d %H:%M:%S %z")
    except ValueError:
        return None
    return whole.astimezone(UTC).timestamp() + float(fraction or 0)


# ---- YAML


def _of_yaml(text: str) -> dict[str, Any]:
    if not text.strip():
        return {"message": "the status is empty"}
    try:
        tree = read_yaml(text)
    except (yaml.YAMLError, ValueError):
        return {"message": "the status is not YAML"}
    if not isinstance(tree, dict):
        return {"message": "the status is no mapping"}
    whole = _part(tree, "clusterWide")
    groups = tree.get("nodeGroups")
    return {
        "written_seconds": _seconds(tree.get("time")),
        "state": _text(tree.get("autoscalerStatus")),
        "message": mask_text(_text(tree.get("message"))),
        "health": _text(_part(whole, "health").get("status")),
        "groups": tuple(
            _group(item)
            for item in (groups if isinstance(groups, list) else ())[:MOST_GROUPS]
            if isinstance(item, dict)
        ),
    }


def _group(tree: Mapping[str, Any]) -> ScaledGroup:
    health, up, down = _part(tree, "health"), _part(tree, "scaleUp"), _part(tree, "scaleDown")
    registered = _part(_part(health, "nodeCounts"), "registered")
    backoff = _part(up, "backoffInfo")
    return ScaledGroup(
        name=_text(tree.get("name")),
        health=_text(health.get("status")),
        ready=_whole(registered.get("ready")),
        registered=_whole(registered.get("total")),
        without_resources=_whole(_part(registered, "unready").get("resourceUnready")),
        target=_whole(health.get("cloudProviderTarget")),
        minimum=_whole(health.get("minSize")),
        maximum=_whole(health.get("maxSize")),
        up=_text(up.get("status")),
        up_since_seconds=_seconds(up.get("lastTransitionTime")),
        error_code=_text(backoff.get("errorCode")),
        error_message=mask_text(_text(backoff.get("errorMessage"))),
        down=_text(down.get("status")),
    )


def _part(tree: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = tree.get(key)
    return found if isinstance(found, dict) else {}


def _text(value: Any) -> str:
    return WORDS[str(value)] if isinstance(value, str | int | float) else ""


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31 else None


def _seconds(value: Any) -> float | None:
    """YAML reads times by itself, where they are quoted they are text, in Go's layout or RFC 3339."""
    if isinstance(value, datetime):
        return (value if value.tzinfo is not None else value.replace(tzinfo=UTC)).timestamp()
    if not isinstance(value, str):
        return None
    found = go_seconds(value)
    return found if found is not None else times.from_text(value)


# ---- lines of text


def _of_text(text: str) -> dict[str, Any]:
    head, _, rest = text.lstrip().partition("\n")
    whole, _, groups = rest.partition("NodeGroups:")
    cluster = next(iter(_sections(f"Name: cluster\n{whole}")), {})
    return {
        "written_seconds": go_seconds(head),
        "state": "Running",
        "health": _first_word(cluster.get("Health", "")),
        "groups": tuple(_group_of_lines(item) for item in list(_sections(groups))[:MOST_GROUPS]),
    }


def _sections(text: str) -> Iterator[dict[str, str]]:
    """The lines of each group by their word; a transition time goes with the line before it."""
    section: dict[str, str] = {}
    last = ""
    for line in text.splitlines():
        found = _LINE.match(line)
        if found is None:
            continue
        word, value = found.groups()
        if word == "Name":
            if section:
                yield section
            section = {}
        if word == "LastTransitionTime":
            section[f"{last} since"] = value
        else:
            section[word] = value
            last = word
    if section:
        yield section


def _group_of_lines(section: Mapping[str, str]) -> ScaledGroup:
    health, up, down = section.get("Health", ""), section.get("ScaleUp", ""), section.get("ScaleDown", "")
    counts = {key: int(value) for key, value in _PAIR.findall(health)}
    return ScaledGroup(
        name=WORDS[section.get("Name", "")],
        health=_first_word(health),
        ready=counts.get("ready"),
        registered=counts.get("registered"),
        without_resources=counts.get("resourceUnready"),
        target=counts.get("cloudProviderTarget"),
        minimum=counts.get("minSize"),
        maximum=counts.get("maxSize"),
        up=_first_word(up),
        up_since_seconds=go_seconds(section.get("ScaleUp since", "")),
        down=_first_word(down),
    )


def _first_word(text: str) -> str:
    found = _WORD.match(text)
    return WORDS[found.group()] if found else ""
