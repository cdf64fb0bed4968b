"""`cockpit config init`, `show`, `validate` and `schema`."""

import argparse
import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import msgspec

from cockpit.commands.document import OutputDocument, document_lines
from cockpit.commands.output import grid, put, put_data
from cockpit.commands.settings import context_name, declared
from cockpit.errors import BadInput
from cockpit.local_state.config import load_settings, settings_text
from cockpit.local_state.paths import config_folder, make_private_folder
from cockpit.local_state.save import open_new
from cockpit.local_state.setting_list import (
    CONTEXT,
    FINDINGS,
    PRICES,
    TOP,
    VENDOR,
    Setting,
    commented_file,
    json_schema,
    of_table,
    setting_of,
)
from cockpit.mask import HIDDEN, mask_tree

_PROMETHEUS: Final = "prometheus-"
_ALERTMANAGER: Final = "alertmanager-"
_SECRETS: Final = ("prometheus-token", "prometheus-password")
"""Only in the environment."""


class ValueItem(msgspec.Struct):
    """A setting in force. `value` is JSON, null where it is not set; secrets are hidden."""

    setting: str
    value: Any
    default: str
    unit: str
    source: str


class ConfigDocument(OutputDocument, kw_only=True):
    """`cockpit config show`."""

    kind: Literal["config"]
    file: str
    context: str
    items: list[ValueItem]


class _Level(NamedTuple):
    """Settings of one place, by name."""

    source: str
    values: Mapping[str, Any]


def _path() -> Path:
    return config_folder(os.environ) / "config.toml"


def init(options: argparse.Namespace) -> int:
    """Write the file with every setting as a comment, 0600. Raises BadInput where there is one."""
    path = Path(options.file).expanduser() if options.file else _path()
    make_private_folder(path.parent)
    with open_new(str(path)) as file:
        file.write(commented_file())
    put([str(path)])
    return 0


def validate(options: argparse.Namespace) -> int:
    """Check the file. Raises BadValues for all settings that cannot be used."""
    path = Path(options.file).expanduser() if options.file else _path()
    if settings_text(path) is None:
        raise BadInput(f"{path}: there is no such file; write one by cockpit config init")
    declared(load_settings(path))
    put([f"{path}: valid"])
    return 0


def schema(_options: argparse.Namespace) -> int:
    """Print JSON Schema of the file."""
    put_data(json.dumps(json_schema(), indent=1, ensure_ascii=False))
    return 0


def show(options: argparse.Namespace) -> int:
    """Print each setting in force for the context, and where its value comes from."""
    path = _path()
    settings = load_settings(path)
    context = context_name(options, settings)
    tree = tomllib.loads(settings_text(path) or "")
    levels = (
        _Level("option", _by_options(options)),
        _Level("environment", _by_environment(os.environ)),
        _Level(f"context {context}", tree.get("context", {}).get(context, {})),
        _Level("file", {name: value for name, value in tree.items() if name != "context"}),
    )
    items = list(in_force(levels))
    if options.output != "table":
        about = {"kind": "config", "file": str(path), "context": context, "items": items}
        put(document_lines(ConfigDocument, about, options.output))
        return 0
    rows = [[item["setting"], _words(item), item["unit"], item["source"]] for item in items]
    put(grid(["setting", "value", "unit", "from"], rows))
    return 0


_INNER: Final = {"prices": (PRICES, 1), "findings": (FINDINGS, 1), "accelerators": (VENDOR, -1)}
"""Tables of the file, and which part of a setting's dotted name is a setting of theirs."""


def _words(item: Mapping[str, Any]) -> str:
    value = item["value"]
    if value is None:
        return f"({item['default'] or 'not set'})"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def in_force(levels: tuple[_Level, ...]) -> Iterator[dict[str, Any]]:
    """Every setting with its value from the first level that has it, as `ValueItem`s."""
    metrics = _metrics(levels, _PROMETHEUS) | _metrics(levels, _ALERTMANAGER)
    for setting in _known():
        if setting.name.startswith((_PROMETHEUS, _ALERTMANAGER)):
            found = metrics.get(setting.name)
        else:
            found = next(
                (
                    (level.source, level.values[setting.name])
                    for level in levels
                    if setting.name in level.values
                ),
                None,
            )
        if found is None or not isinstance(found[1], dict):
            yield _item(setting.name, setting, found)
            continue
        for name, value in _leaves(found[1], setting.name):
            table, at = _INNER.get(setting.name, (TOP, 1))
            inner = setting_of(table, name.split(".")[at]) or setting
            yield _item(name, inner, (found[0], value))
    for name in _SECRETS:
        if name in metrics:
            yield {"setting": name, "value": HIDDEN, "default": "", "unit": "", "source": metrics[name][0]}


def _known() -> Iterator[Setting]:
    seen = {setting.name: setting for table in (TOP, CONTEXT) for setting in of_table(table)}
    return (setting for name, setting in seen.items() if name != "context")


def _metrics(levels: tuple[_Level, ...], prefix: str) -> dict[str, tuple[str, Any]]:
    """Settings of a server that begin so: as `model.metrics_server.in_force` joins them, by name."""
    found: dict[str, tuple[str, Any]] = {}
    has_login = False
    for level in levels:
        own = {name: value for name, value in level.values.items() if name.startswith(prefix) and value}
        login = {name for name in own if name.removeprefix(prefix) not in ("url", "ca-file", "filter")}
        for name, value in own.items():
            if name not in found and not (name in login and has_login):
                found[name] = (level.source, value)
        has_login = has_login or bool(login)
        if f"{prefix}url" in own:
            break
    return found


def _leaves(tree: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}.{name}")
        else:
            yield f"{prefix}.{name}", value


def _item(name: str, setting: Setting, found: tuple[str, Any] | None) -> dict[str, Any]:
    source, value = found or ("default", None)
    if setting.is_secret and found:
        value = HIDDEN
    elif value is not None:
        value = mask_tree({name.rpartition(".")[2]: value})[name.rpartition(".")[2]]
    return {
        "setting": name,
        "value": value,
        "default": setting.default,
        "unit": setting.unit,
        "source": source,
    }


def _by_options(options: argparse.Namespace) -> dict[str, Any]:
    given = {name.replace("_", "-"): value for name, value in vars(options).items() if value}
    found = {name: value for name, value in given.items() if name.startswith(_PROMETHEUS)}
    found |= {name: given[name] for name in ("namespace", "write") if name in given}
    return {**found, "namespace": ""} if "all-namespaces" in given else found


def _by_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    prefix = "COCKPIT_PROMETHEUS_"
    return {
        f"{_PROMETHEUS}{name.removeprefix(prefix).lower().replace('_', '-')}": value
        for name, value in environment.items()
        if name.startswith(prefix) and value
    }
