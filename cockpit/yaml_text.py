"""YAML read and written: by libyaml where it is, in a third of the time of Python.

PyYAML composes what libyaml parsed by recursion in C: a document of 50,000 brackets ends the process with a
segmentation fault, so that how deep a document nests is bounded here, where every text from outside is read.
"""

from functools import cache
from typing import Any

DEEPEST = 100
"""Levels of a document; one that people or controllers write has a tenth of them."""


def read_yaml(text: str | bytes, *, in_python: bool = False) -> Any:
    """The one document in `text`, plain values only. Raises yaml.YAMLError, also for one that nests deeper
    than DEEPEST, and ValueError. `in_python` takes the parser that says better what is wrong."""
    import yaml

    base = yaml.CSafeLoader if yaml.__with_libyaml__ and not in_python else yaml.SafeLoader
    return yaml.load(text, Loader=bounded(base))


@cache
def bounded(base: Any) -> Any:
    """`base`, a loader of PyYAML, that refuses what nests deeper than DEEPEST."""
    import yaml

    def descend(self: Any, parent: Any, index: Any) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise yaml.YAMLError(f"nested deeper than {DEEPEST} levels")

    def ascend(self: Any) -> None:
        self.depth -= 1

    # what PyYAML calls on the way down and up, in C as in Python; what they do there nothing here uses
    return type(base.__name__, (base,), {"depth": 0, "descend_resolver": descend, "ascend_resolver": ascend})


def yaml_text(tree: Any, width: int, *, has_letters: bool = True) -> str:
    """Block style, keys in their own order; lines are folded at `width` characters. Letters beyond ASCII stay
    as they are, or are escaped without `has_letters`."""
    import yaml

    asked: dict[str, Any] = {
        "sort_keys": False,
        "default_flow_style": False,
        "allow_unicode": has_letters,
        "width": width,
    }
    text: str
    if yaml.__with_libyaml__:
        text = yaml.dump(tree, Dumper=yaml.CSafeDumper, **asked)
        # Beyond the first 65,536 letters it writes numbers, and a person wants the letter.
        if not has_letters or "\\U" not in text:
            return text
    text = yaml.dump(tree, Dumper=yaml.SafeDumper, **asked)
    return text
