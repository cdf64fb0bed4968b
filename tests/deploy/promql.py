"""The names in a PromQL expression, as far as this project writes them."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'')
_GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_SELECTOR = re.compile(r"([A-Za-z_:][\w:]*)\s*\{([^}]*)\}")
_WORD = re.compile(r"(?<![\w:.$])[A-Za-z_:][\w:]*(?![\w:]|\s*\()")
_DURATION = re.compile(r"\[[^\]]*\]")
_KEYWORDS = frozenset({"and", "or", "unless", "bool", "offset", "by", "without", "on", "ignoring"})


def _without_strings(expression: str) -> str:
    return _STRINGS.sub('""', expression)


def metrics_in(expression: str) -> set[str]:
    """Names of metrics: words that are no function, keyword, label or duration."""
    bare = _without_strings(expression)
    bare = _GROUPING.sub(" ", _DURATION.sub(" ", bare))
    bare = re.sub(r"\{[^}]*\}", " ", bare)
    return {word for word in _WORD.findall(bare) if word not in _KEYWORDS}


def matchers_in(expression: str) -> Iterator[tuple[str, str]]:
    """Pairs of a metric and a label that it is selected by."""
    for metric, inside in _SELECTOR.findall(_without_strings(expression)):
        for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", inside):
            yield metric, label


def rules_in(path: Path) -> list[dict[str, Any]]:
    """The rules of a PrometheusRule."""
    return [rule for group in yaml.safe_load(path.read_text())["spec"]["groups"] for rule in group["rules"]]


def queries_in(dashboard: Path) -> list[str]:
    """Every query of a Grafana dashboard, those of its variables among them."""
    tree = json.loads(dashboard.read_text())
    asked = [target["expr"] for panel in tree["panels"] for target in panel.get("targets", ())]
    lists = [variable for variable in tree["templating"]["list"] if variable["type"] == "query"]
    return asked + [one["definition"].removeprefix("label_values(").rpartition(",")[0] for one in lists]
