"""YAML of a request as the tree of JSON that it stands for; aliases are refused."""

import json
from typing import Any, ClassVar

import msgspec
import yaml

_NOT_IN_JSON = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:value")


class BadYaml(ValueError):
    """Why a text is no YAML that stands for JSON."""


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Texts that look like times stay texts."""

    yaml_implicit_resolvers: ClassVar = {
        first: [(tag, form) for tag, form in known if tag not in _NOT_IN_JSON]
        for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def tree_of(body: bytes) -> Any:
    """The first document; None for an empty one. Raises BadYaml."""
    try:
        _check_events(body)
        loader = _Loader(body)
        try:
            # What JSON cannot hold (sets, infinity) is refused here, and keys become texts.
            return msgspec.json.decode(json.dumps(loader.get_data(), allow_nan=False))
        finally:
            loader.dispose()
    except UnicodeDecodeError as error:
        raise BadYaml(f"invalid UTF-8: {error.reason}") from None
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        raise BadYaml(f"line {mark.line}: {problem}" if mark else " ".join(str(error).split())) from None
    except (TypeError, ValueError, OverflowError) as error:
        raise BadYaml(str(error)) from None


def _check_events(body: bytes) -> None:
    """Refuse aliases before anything is built of them."""
    for event in yaml.parse(body, Loader=_Loader):
        if isinstance(event, yaml.AliasEvent):
            raise BadYaml("aliases are not taken")
        if isinstance(event, yaml.DocumentEndEvent):
            return
