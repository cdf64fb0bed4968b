"""Of a heavy comparison `make test-real` plays a part that a seed draws, `make test-all` plays the whole.

`GPU_COCKPIT_PART` holds the seed: the commit, so that every commit has another part and a part can be played
again. Without it everything is played.
"""

import hashlib
import os
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest

SEED = os.environ.get("GPU_COCKPIT_PART", "")


def drawn(seed: str, names: Sequence[str]) -> set[str]:
    """Half of `names`, the odd one too, another half for each seed; a lone test always, because a suite of
    which nothing is played tells nothing."""
    in_turn = sorted(names, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).digest())
    return set(in_turn[: (len(names) + 1) // 2])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out of each file what is heavy and was not drawn; the count stands in the summary."""
    if not SEED:
        return
    files = defaultdict[Path, list[pytest.Item]](list)
    for item in items:
        if item.get_closest_marker("heavy"):
            files[item.path].append(item)
    left_out = set[pytest.Item]()
    for heavy in files.values():
        played = drawn(SEED, [one.name for one in heavy])
        left_out |= {one for one in heavy if one.name not in played}
    if left_out:
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [one for one in items if one not in left_out]
