"""YAML read and written: by libyaml where it is, in a third of the time of Python.

PyYAML composes what libyaml parsed by recursion in C: a document of 50,000 brackets ends the process with a
segmentation fault, so that how deep a document nests is bounded here, where every text from outside is read.
"""

from functools import cache
from itertools import chain
from math import inf
from typing import Any

import yaml

DEEPEST = 100
"""Levels of a document; one that people or controllers write has a tenth of them."""
MOST_VALUES = 1_000_000
"""Values of a document with each alias written out: a few lines can unfold to billions."""


def read_yaml(text: str | bytes, *, in_python: bool = False) -> Any:
    """The one document in `text`, plain values only. Raises ValueError and yaml.YAMLError, also for one that
    nests deeper than DEEPEST or whose aliases unfold to more than MOST_VALUES. `in_python` takes the parser
    that says better what is wrong."""
    loader = _loader(text, in_python)
    try:
        return _value(loader, loader.get_single_node())
    finally:
        loader.dispose()


def read_documents(text: str | bytes, *, in_python: bool = False) -> list[Any]:
    """Every document in `text`, None for an empty one; raises as `read_yaml`."""
    loader = _loader(text, in_python)
    try:
        found = []
        while loader.check_node():
            found.append(_value(loader, loader.get_node()))
        return found
    finally:
        loader.dispose()


def _loader(text: str | bytes, in_python: bool) -> Any:
    base = yaml.CSafeLoader if yaml.__with_libyaml__ and not in_python else yaml.SafeLoader
    return bounded(base)(text)


def _value(loader: Any, node: Any) -> Any:
    if node is None:
        return None
    if _unfolded(node, {}) > MOST_VALUES:
        raise yaml.YAMLError(f"its aliases unfold to more than {MOST_VALUES:,} values")
    return loader.construct_document(node)


def _unfolded(node: Any, known: dict[int, float]) -> float:
    """How many values the node is once each alias is written out; without end for one that holds itself."""
    if isinstance(node.value, str):
        return 1
    if id(node) not in known:
        known[id(node)] = inf
        parts = chain.from_iterable(node.value) if node.id == "mapping" else node.value
        known[id(node)] = 1 + sum(_unfolded(part, known) for part in parts)
    return known[id(node)]


@cache
def bounded(base: Any) -> Any:
    """`base`, a loader of PyYAML, that refuses what nests deeper than DEEPEST."""

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
