"""Trees as YAML for people: by libyaml where it is, in a third of the time of the writer in Python."""

from typing import Any


def yaml_text(tree: Any, width: int) -> str:
    """Block style, keys in their own order, letters as they are; lines are folded at `width` characters."""
    import yaml

    asked: dict[str, Any] = {
        "sort_keys": False,
        "default_flow_style": False,
        "allow_unicode": True,
        "width": width,
    }
    text: str
    if yaml.__with_libyaml__:
        text = yaml.dump(tree, Dumper=yaml.CSafeDumper, **asked)
        # Beyond the first 65,536 letters it writes numbers, and a person wants the letter.
        if "\\U" not in text:
            return text
    text = yaml.dump(tree, Dumper=yaml.SafeDumper, **asked)
    return text
