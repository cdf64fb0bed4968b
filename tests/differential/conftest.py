"""Of a heavy comparison `make test-real` plays a part that a seed draws, `make test-all` plays the whole.

`GPU_COCKPIT_PART` holds the seed: the commit, so that every commit has another part and a part can be played
again. Without it everything is played.
"""

import hashlib
import os

import pytest

SEED = os.environ.get("GPU_COCKPIT_PART", "")


def is_drawn(seed: str, name: str) -> bool:
    """True for half of all names, another half for each seed."""
    return hashlib.sha256(f"{seed} {name}".encode()).digest()[0] % 2 == 0


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what is heavy and was not drawn; the count stands in the summary."""
    if not SEED:
        return
    left_out = [one for one in items if one.get_closest_marker("heavy") and not is_drawn(SEED, one.name)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [one for one in items if one not in left_out]
